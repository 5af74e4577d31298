// SPDX-License-Identifier: Apache-2.0
#include "data/batching/lane_blocks.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {
namespace {

constexpr std::int64_t blocks_per_lane = 128;   // minimum, if there are enough rows
constexpr std::int64_t blocks_per_window = 32;  // neighbouring rows should not train together
constexpr std::int64_t max_rows_per_block = 1024;

enum class Deal { by_shard, rotated };

// Row lengths are periodic (contexts grow with the turns of a dialogue). So that this period does
// not match the number of lanes, every round begins with another lane.
std::int64_t position_in_round(std::int64_t round, Lane lane, Deal deal) {
    if (deal == Deal::by_shard) return lane.number;
    const auto first =
        mix(static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(lane.count));
    return (lane.number +
            static_cast<std::int64_t>(first % static_cast<std::uint64_t>(lane.count))) %
           lane.count;
}

}  // namespace

std::vector<RowBlock> lane_blocks(std::span<const std::int64_t> shard_rows, std::int64_t block_rows,
                                  Lane lane) {
    require(block_rows > 0 && lane.count > 0, "lanes and blocks have a size");
    const auto shards = static_cast<std::int64_t>(shard_rows.size());
    std::int64_t max_blocks = 0;
    for (const std::int64_t rows : shard_rows)
        max_blocks = std::max(max_blocks, (rows + block_rows - 1) / block_rows);
    const Deal deal = shards % lane.count == 0 ? Deal::by_shard : Deal::rotated;
    std::vector<RowBlock> blocks;
    for (std::int64_t round = 0; round * lane.count < max_blocks * shards; ++round) {
        const std::int64_t number = round * lane.count + position_in_round(round, lane, deal);
        const std::int64_t shard = number % shards;
        const std::int64_t first = number / shards * block_rows;
        const std::int64_t rows = std::min(block_rows, shard_rows[shard] - first);
        // Shards differ in length, so some numbers have no block.
        if (rows > 0) blocks.push_back({static_cast<std::int32_t>(shard), first, rows});
    }
    return blocks;
}

std::int64_t choose_block_rows(std::int64_t rows, std::int64_t lanes, std::int64_t window_rows) {
    const std::int64_t even = rows / (lanes * blocks_per_lane);
    const std::int64_t mixed = window_rows / blocks_per_window;
    return std::clamp<std::int64_t>(std::min(even, mixed), 1, max_rows_per_block);
}

}  // namespace lockstep::data
