// SPDX-License-Identifier: Apache-2.0
#include "data/batching/row_feed.hpp"

#include <utility>

namespace lockstep::data {

BlockFeed::BlockFeed(RowStore& store, std::vector<RowBlock> blocks)
    : store_(store), blocks_(std::move(blocks)) {}

void BlockFeed::append(std::vector<RowExtent>& out) {
    const RowBlock& block = blocks_[next_++];
    store_.append_extents(block.shard, block.first, block.rows, out);
}

}  // namespace lockstep::data
