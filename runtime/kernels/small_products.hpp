// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Which products have epilogues that save a launch but may cost a large product more than a pass
// over its result: those whose gradient stays in the GPU's cache, so that a pass is little more
// than its launch. The plan of a run asks as well, without a GPU.
namespace lockstep::kernels {

constexpr std::int64_t max_small_bytes = std::int64_t{16} << 20;

template <class T>
constexpr bool is_small(std::int64_t rows, std::int64_t cols) noexcept {
    return rows * cols * static_cast<std::int64_t>(sizeof(T)) <= max_small_bytes;
}

// Of relu's mask of so many values; 0: none. cuBLASLt wants rows of 128 bits.
template <class T>
constexpr std::int64_t small_mask_cols(std::int64_t rows, std::int64_t cols) noexcept {
    return is_small<T>(rows, cols) ? (cols + 127) / 128 * 16 : 0;
}

}  // namespace lockstep::kernels
