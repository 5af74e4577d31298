// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"
#include "runtime/comm/store/secret.hpp"
#include "runtime/comm/store/store.hpp"

namespace lockstep::comm {

enum class Backend { automatic, mpi, gloo };

struct CommOptions {
    Backend backend = Backend::automatic;  // MPI where MPI started the run, else Gloo
    std::string interface;                 // network between hosts; empty: Gloo takes the one that
                                           // reaches rank 0, MPI its own choice
    int timeout_ms = 300'000;              // of one operation, and of joining
    Secret secret;
    std::string mpi_module;  // path of the module; empty: found beside the program
};

// "auto", "mpi" or "gloo"; throws a config error naming the option otherwise.
Backend parse_backend(const std::string& text);

// Joins the job: waits until every rank has. Throws kind config where the place and the options
// contradict each other or MPI, kind peer where ranks are missing at the time-out.
std::unique_ptr<Communicator> make_communicator(const RankInfo& place, const CommOptions& options);

// The same by Gloo, over the job's store where that is open already.
std::unique_ptr<Communicator> make_gloo_communicator(const RankInfo& place,
                                                     const CommOptions& options,
                                                     std::shared_ptr<Store> store);

}  // namespace lockstep::comm
