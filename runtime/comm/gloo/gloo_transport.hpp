// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/store/store.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

// Every rank holds a connection to every other, which does not scale without end.
constexpr int gloo_max_ranks = 128;

struct GlooOptions {
    std::string interface;  // empty: bind to `address`
    std::string address;    // numeric, of this host
    int timeout_ms = 300'000;
};

// What one rank can tell before it has met another. Throws kind config for more ranks than
// gloo_max_ranks, and for an interface that does not exist or does not reach other hosts.
void check_gloo(const RankInfo& place, const std::string& interface);

// Connects all ranks with one another over TCP (Gloo has no encryption and no authentication).
// Throws kind peer when ranks are missing. Does not return before all ranks are connected.
std::unique_ptr<Transport> connect_gloo(int rank, int size, std::shared_ptr<Store> store,
                                        const GlooOptions& options);

}  // namespace lockstep::comm
