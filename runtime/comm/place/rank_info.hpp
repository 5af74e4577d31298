// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/comm/net/environment.hpp"

namespace lockstep::comm {

// Who said where this process stands.
enum class PlaceSource { flags, torchrun, mpi, slurm, alone };

const char* name(PlaceSource source) noexcept;

// Where one rank stands in its job, and where the job's store is found.
struct RankInfo {
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;
    std::string host;  // of this rank
    PlaceSource source = PlaceSource::alone;
    std::string master_addr;  // rank 0's host; empty where only MPI can tell, or alone
    int master_port = 0;      // the first of the ports the store may take; 0 with an empty address
    std::string job;  // "12.0", job and step of Slurm: tells jobs with one secret apart; or empty

    bool one_host() const noexcept { return local_size == size; }
};

// What the command line says; rank, size and the master's address come together or not at all.
struct PlaceFlags {
    std::optional<int> rank, size, local_rank, local_size, master_port;
    std::optional<std::string> master_addr;
};

constexpr int default_master_port = 29500;

// The place of a process started as one rank of a job; the first to answer is believed: flags,
// torchrun's variables, Open MPI's or PMIx's (SLURM_* is ignored then: orted hands its own step's
// down), a Slurm step's, alone. Throws a config error where an answer has pieces missing or
// contradicts itself, where there is a Slurm job but no step of it, and where the process is not
// one of the ranks but a shell's child; the text says what to type.
RankInfo find_place(const Environment& environment, const PlaceFlags& flags);

// One rank of one, whatever the environment says.
RankInfo alone();

std::string host_name();

}  // namespace lockstep::comm
