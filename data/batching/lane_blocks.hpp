// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::data {

// Identifies a lane by its number among `count` lanes.
struct Lane {
    std::int64_t number = 0;
    std::int64_t count = 1;
};

struct RowBlock {
    std::int32_t shard = 0;
    std::int64_t first = 0, rows = 0;
};

// Returns the blocks of a lane. Every shard is cut into blocks of `block_rows`; block j of shard s
// of S has the number j * S + s. Each L consecutive numbers are dealt to the L lanes, one each. If
// L divides S, lane l gets the shards l, l + L, ... only, so with S == L lane l is shard l.
std::vector<RowBlock> lane_blocks(std::span<const std::int64_t> shard_rows, std::int64_t block_rows,
                                  Lane lane);

// Chooses a block size that gives `lanes` lanes of nearly equal size, and many blocks in a window
// of `window_rows`. If there are many rows, the blocks are still long enough for sequential reads.
std::int64_t choose_block_rows(std::int64_t rows, std::int64_t lanes, std::int64_t window_rows);

}  // namespace lockstep::data
