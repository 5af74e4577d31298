// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Some epilogues of products save a launch, but may cost a large product more than a pass over its
// result. These functions select the products for which they pay: those whose gradient stays in the
// GPU's cache, so that a pass takes little more than its launch. `lockstep plan` calls them without
// a GPU, too.
namespace lockstep::kernels {

constexpr std::int64_t max_small_bytes = std::int64_t{16} << 20;

template <class T>
constexpr bool is_small(std::int64_t rows, std::int64_t cols) noexcept {
    return rows * cols * static_cast<std::int64_t>(sizeof(T)) <= max_small_bytes;
}

// Returns the number of bytes in a row of relu's mask; 0: no mask. cuBLASLt needs rows that are
// multiples of 128 bits.
template <class T>
constexpr std::int64_t small_mask_cols(std::int64_t rows, std::int64_t cols) noexcept {
    return is_small<T>(rows, cols) ? (cols + 127) / 128 * 16 : 0;
}

}  // namespace lockstep::kernels
