// SPDX-License-Identifier: Apache-2.0
#include "data/batching/row_feed.hpp"

#include <numeric>
#include <utility>

namespace lockstep::data {

BlockFeed::BlockFeed(RowStore& store, std::vector<RowBlock> blocks)
    : store_(store), blocks_(std::move(blocks)) {}

void BlockFeed::append(std::vector<RowExtent>& out) {
    const RowBlock& block = blocks_[next_++];
    store_.append_extents(block.shard, block.first, block.rows, out);
}

std::int64_t BlockFeed::rows() const noexcept {
    return std::accumulate(
        blocks_.begin(), blocks_.end(), std::int64_t{0},
        [](std::int64_t sum, const RowBlock& block) { return sum + block.rows; });
}

}  // namespace lockstep::data
