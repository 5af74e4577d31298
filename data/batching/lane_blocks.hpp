// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::data {

// A lane among `count`.
struct Lane {
    std::int64_t number = 0;
    std::int64_t count = 1;
};

struct RowBlock {
    std::int32_t shard = 0;
    std::int64_t first = 0, rows = 0;
};

// The blocks of a lane. Every shard is cut into blocks of `block_rows`; block j of shard s of S has
// the number j * S + s, and each L numbers in a row are dealt to the L lanes, one each. Where L
// divides S lane l has shards l, l + L, ... alone, so with S == L lane l is shard l.
std::vector<RowBlock> lane_blocks(std::span<const std::int64_t> shard_rows, std::int64_t block_rows,
                                  Lane lane);

// A block size that gives `lanes` nearly equal lanes and a window of `window_rows` many blocks, yet
// reads long runs where there are many rows.
std::int64_t choose_block_rows(std::int64_t rows, std::int64_t lanes, std::int64_t window_rows);

}  // namespace lockstep::data
