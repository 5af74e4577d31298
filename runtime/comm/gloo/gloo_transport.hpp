// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/store/store.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

// Every rank holds a connection to every other rank, so the number of ranks is limited.
constexpr int gloo_max_ranks = 128;

struct GlooOptions {
    std::string interface;  // empty: bind to `address`
    std::string address;    // numeric address of this host
    int timeout_ms = 300'000;
};

// Checks what one rank can check before it has met another. Throws kind config for more ranks than
// gloo_max_ranks, and for an interface that does not exist or does not reach the other hosts.
void check_gloo(const RankInfo& rank_info, const std::string& interface);

// Connects every rank with every other over TCP (Gloo has no encryption and no authentication).
// Returns when all ranks are connected. Throws kind peer when ranks are missing.
std::unique_ptr<Transport> connect_gloo(int rank, int size, std::shared_ptr<Store> store,
                                        const GlooOptions& options);

}  // namespace lockstep::comm
