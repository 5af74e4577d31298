// SPDX-License-Identifier: Apache-2.0
#include "data/batching/window_size.hpp"

#include <algorithm>

#include "data/batching/lane_blocks.hpp"

namespace lockstep::data {
namespace {

// More batches mix rows better and give more similar lengths to each batch. Fewer batches need less
// memory: every lane holds the tokens of up to two windows.
constexpr std::int64_t window_tokens = std::int64_t{4} << 20;
constexpr std::int64_t fewest_batches = 16, max_batches = 128;

}  // namespace

WindowSize choose_window(const SplitInfo& split, const BatchRules& rules, std::int64_t lanes,
                         std::int64_t batches) {
    const auto rows = static_cast<std::int64_t>(split.rows);
    const auto tokens = static_cast<std::int64_t>(split.source_tokens + split.target_tokens);
    const std::int64_t row_tokens =
        std::max<std::int64_t>(1, tokens / std::max<std::int64_t>(1, rows));
    const bool full = rules.dynamic() == Dynamic::full;
    const std::int64_t batch_rows =
        full ? std::max<std::int64_t>(1, rules.budget() / row_tokens) : rules.batchsize();
    if (batches <= 0)
        batches =
            std::clamp(window_tokens / (batch_rows * row_tokens), fewest_batches, max_batches);
    return {batches, choose_block_rows(rows, lanes, batches * batch_rows), batches * batch_rows};
}

}  // namespace lockstep::data
