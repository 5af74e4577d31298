// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::tests {

// Returns a rank of a world of `size` ranks that are all on one host.
inline comm::RankInfo local_rank(int rank, int size) {
    comm::RankInfo rank_info;
    rank_info.rank = rank_info.local_rank = rank;
    rank_info.size = rank_info.local_size = size;
    rank_info.host = "node1";
    return rank_info;
}

}  // namespace lockstep::tests
