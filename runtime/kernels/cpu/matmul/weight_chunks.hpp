// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/cpu/matmul/word_panels.hpp"

namespace lockstep::kernels::cpu {

// Returns how many columns of packed bf16 weights a product uses at a time: a multiple of
// panel_columns whose panels, of `rows` rows, take half of a second-level cache of 1 MiB at most,
// or one panel if that is more.
constexpr std::int64_t chunk_columns(std::int64_t rows) noexcept {
    constexpr std::int64_t most_bytes = std::int64_t{512} << 10;
    const std::int64_t panel_bytes =
        panel_elements<bf16>(rows) * static_cast<std::int64_t>(sizeof(bf16));
    return std::max<std::int64_t>(1, most_bytes / panel_bytes) * panel_columns;
}

// A part of the rest of that cache is for so many rows of the other factor.
constexpr std::int64_t chunk_rows = 128;

}  // namespace lockstep::kernels::cpu
