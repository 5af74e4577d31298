// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"

namespace lockstep::kernels::cpu {

// Returns whether the distance of two rows is a power of two of pages. All elements of a column
// then map to the same few sets of a cache.
inline bool rows_collide(HostMatrix<const float> matrix) noexcept {
    constexpr std::int64_t page_bytes = 4096;
    const std::int64_t bytes = matrix.stride * static_cast<std::int64_t>(sizeof(float));
    return bytes >= page_bytes && std::has_single_bit(static_cast<std::uint64_t>(bytes));
}

// Returns a copy in the slot's memory, whose rows have a cache line between them.
inline HostMatrix<const float> spread_rows(device::CpuContext& ctx, HostMatrix<const float> x,
                                           ScratchMemory::Slot slot) {
    constexpr std::int64_t line_bytes = 64, block_rows = 32;
    const std::int64_t stride = x.cols + line_bytes / static_cast<std::int64_t>(sizeof(float));
    float* const copy = scratch<float>(ctx, slot, x.rows * stride).data();
    parallel_blocks(ctx, x.rows, block_rows, x.rows * x.cols,
                    [&](std::int64_t, std::int64_t first, std::int64_t count) {
                        for (std::int64_t i = first; i < first + count; ++i)
                            std::copy_n(x.data + i * x.stride, x.cols, copy + i * stride);
                    });
    return {copy, x.rows, x.cols, stride};
}

}  // namespace lockstep::kernels::cpu
