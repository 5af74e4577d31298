// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_server.hpp"

namespace lockstep::comm {

// Holds a store that only the watchdogs use. It is separate from the communicator and available
// under every launcher. Its address and its secret are made for this run and are broadcast by the
// communicator.
struct WatchStore {
    std::unique_ptr<StoreServer> server;  // rank 0 only
    std::unique_ptr<StoreClient> client;
};

struct WatchPostOptions {
    // The store is served on this interface of this host. If it is empty, rank 0's address decides.
    std::string interface;
    int timeout_ms = 300'000;  // limit of joining and of a silence of rank 0
};

// Opens the store on rank 0 and connects every rank. The call is collective.
WatchStore open_watch_post(const RankInfo& rank_info, Communicator& communicator,
                           const WatchPostOptions& options);

}  // namespace lockstep::comm
