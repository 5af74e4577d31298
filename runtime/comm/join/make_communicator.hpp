// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/secret/secret.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/comm/store/store_join.hpp"

namespace lockstep::comm {

enum class Backend { automatic, mpi, gloo };

struct CommOptions {
    Backend backend = Backend::automatic;  // MPI if MPI started the run, else Gloo
    // This is the network interface between hosts. If it is empty, Gloo takes the one that reaches
    // rank 0 and MPI chooses its own.
    std::string interface;
    int timeout_ms = 300'000;  // limit of one operation and of joining
    Secret secret;
    std::string mpi_module;  // path of the module; empty: next to the program
    WhileWaiting while_waiting = {};
};

// Reads "auto", "mpi" or "gloo". Throws kind config naming the option for any other text.
Backend parse_backend(const std::string& text);

// Joins the job and returns when every rank has joined. Throws kind config when `rank_info` and
// `options` contradict each other or MPI, kind peer when ranks are missing at the time-out.
std::unique_ptr<Communicator> make_communicator(const RankInfo& rank_info,
                                                const CommOptions& options);

// Ranks that have met in their store and know their local ranks, but have no communicator yet.
struct MetRanks {
    RankInfo rank_info;
    std::shared_ptr<Store> store;  // empty: they need not meet before they join
};

// Lets the ranks meet if nobody told them their local ranks, so that each of them knows its own
// before it chooses a GPU and joins. Throws as make_communicator.
MetRanks meet_ranks(const RankInfo& rank_info, const CommOptions& options);

// Joins ranks that have met; all of them have called meet_ranks().
std::unique_ptr<Communicator> make_communicator(const MetRanks& met, const CommOptions& options);

// Joins by Gloo over a store that is already open; otherwise as make_communicator.
std::unique_ptr<Communicator> make_gloo_communicator(const RankInfo& rank_info,
                                                     const CommOptions& options,
                                                     std::shared_ptr<Store> store);

}  // namespace lockstep::comm
