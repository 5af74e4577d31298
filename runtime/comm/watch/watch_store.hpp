// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_server.hpp"

namespace lockstep::comm {

// A store of the watchdogs' own, beside the communicator, under every launcher: its address and its
// secret, made for this run alone, travel over the communicator.
struct WatchStore {
    std::unique_ptr<StoreServer> server;  // on rank 0
    std::unique_ptr<StoreClient> client;
};

struct WatchPostOptions {
    std::string interface;     // of this host, to serve on; empty: that of rank 0's address
    int timeout_ms = 300'000;  // of joining, and after which a silent rank 0 counts as gone
};

// Collective.
WatchStore open_watch_post(const RankInfo& place, Communicator& communicator,
                           const WatchPostOptions& options);

}  // namespace lockstep::comm
