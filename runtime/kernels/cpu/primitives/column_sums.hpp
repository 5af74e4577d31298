// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/view.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"
#include "runtime/kernels/into.hpp"

namespace lockstep::kernels::cpu {

// Adds a row x [n] to sums [n]. Compiled once per instruction set.
void add_to_sums(const float* x, float* sums, std::int64_t n);
void add_to_sums(const bf16* x, float* sums, std::int64_t n);

// Sums over rows: add(row, sums) adds the values of one row to sums [cols], and their total is
// written or added to totals [cols]. Rows are summed in blocks whose borders depend only on the
// shape, and the blocks are added in order, so the result is the same for any number of threads.
// `add` is called once per row, in order inside a block.
template <class Add>
void column_sums(device::CpuContext& ctx, std::int64_t rows, std::int64_t cols,
                 HostView<float> totals, Into into, const Add& add) {
    constexpr std::int64_t max_blocks = 64, smallest_block = 16;
    if (rows == 0) {
        if (into == Into::overwrite) std::ranges::fill(totals, 0.0f);
        return;
    }
    const std::int64_t block_rows = std::max(smallest_block, (rows + max_blocks - 1) / max_blocks);
    const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
    const auto partial = scratch<float>(ctx, ScratchMemory::Slot::sums, blocks * cols);
    parallel_blocks(ctx, rows, block_rows, rows * cols,
                    [&](std::int64_t block, std::int64_t first, std::int64_t count) {
                        float* sums = partial.data() + block * cols;
                        std::fill_n(sums, cols, 0.0f);
                        for (std::int64_t i = 0; i < count; ++i) add(first + i, sums);
                    });
    constexpr std::int64_t strip = 256;
    parallel_blocks(ctx, cols, strip, blocks * cols,
                    [&](std::int64_t, std::int64_t first, std::int64_t count) {
                        if (into == Into::overwrite)
                            std::fill_n(totals.data() + first, count, 0.0f);
                        for (std::int64_t block = 0; block < blocks; ++block) {
                            const float* sums = partial.data() + block * cols + first;
                            for (std::int64_t j = 0; j < count; ++j)
                                totals[static_cast<std::size_t>(first + j)] += sums[j];
                        }
                    });
}

}  // namespace lockstep::kernels::cpu
