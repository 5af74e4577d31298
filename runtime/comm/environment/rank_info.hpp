// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::comm {

// Names the source of a rank's information.
enum class RankSource { flags, torchrun, mpi, slurm, alone };

const char* name(RankSource source) noexcept;

// Holds the rank of this process, its job's size, and the address of the job's store.
struct RankInfo {
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;
    // False where nobody told local_rank, which is 0 until the ranks agree on it by their hosts'
    // names (agree_on_local_ranks()).
    bool local_rank_known = true;
    // False where nobody told local_size, which is then the least that local_rank allows.
    bool local_size_known = true;
    std::string host;  // this rank's host
    RankSource source = RankSource::alone;
    std::string master_addr;  // rank 0's host; empty for a single rank or if only MPI knows it
    int master_port = 0;      // first port that the store may use; 0 with an empty address
    // Job, step and requeue of Slurm, such as "12.0" and "12.0 restart 1", or torchrun's run id.
    // They separate jobs that share one secret; may be empty.
    std::string job;

    bool one_host() const noexcept { return size == 1 || (local_size_known && local_size == size); }
};

// Holds the values from the command line. Rank, size and the master's address come together or not
// at all.
struct RankFlags {
    std::optional<int> rank, size, local_rank, local_size, master_port;
    std::optional<std::string> master_addr;
};

constexpr int default_master_port = 29500;
constexpr int max_ranks = 1 << 16;  // of a run

// Finds the rank information of a process that was started as one rank of a job. The first source
// that answers is believed: flags, torchrun's variables, Open MPI's or PMIx's, a Slurm step's, a
// single rank. SLURM_* variables are ignored under mpirun because orted passes on those of its own
// step. Throws kind config when an answer is incomplete or contradicts itself, when there is a
// Slurm job but no step, and when the process is not a rank but the child of a rank's shell; the
// text says what to type.
RankInfo find_rank_info(const Environment& environment, const RankFlags& flags);

// Returns rank 0 of 1, whatever the environment says.
RankInfo alone();

std::string host_name();

}  // namespace lockstep::comm
