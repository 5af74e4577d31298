// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/store/store.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

struct GlooOptions {
    std::string interface;  // empty: bind to `address`
    std::string address;    // numeric address of this host
    int timeout_ms = 300'000;
};

// Checks what one rank can check before it has met another. Throws kind config for an
// interface that does not exist or does not reach the other hosts.
void check_gloo(const RankInfo& rank_info, const std::string& interface);

// Returns the ranks with whom a rank connects at first: those at a distance of 2^k around the
// circle of all ranks. Of the collectives only sums of bf16 need others. They ascend.
std::vector<int> near_ranks(int rank, int size);

// Raises this process's limit of open descriptors for connections with all other ranks. Throws kind
// config if the system does not allow as many.
void allow_all_connections(int rank, int size);

// Connects the ranks over TCP: each with about 2 log2(size) others, with further ones when it first
// sends to them or receives from them, and with all when it first adds bf16. Ranks prove the job's
// key when they connect; what they send then is neither encrypted nor signed. Returns when all
// ranks have met. Throws kind peer when ranks are missing.
std::unique_ptr<Transport> connect_gloo(int rank, int size, std::shared_ptr<Store> store,
                                        const GlooOptions& options);

}  // namespace lockstep::comm
