// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels::cpu {

enum class Masking { off, on };

// Masks are calculated for whole blocks: 16 Philox counters, four words each.
constexpr std::int64_t mask_columns = 64;
// Row functions mask this many columns of a row at a time.
constexpr std::int64_t mask_step = 512;
static_assert(mask_step % mask_columns == 0);

// Row functions process this many columns at a time; without a mask, all of them.
template <Masking masking>
constexpr std::int64_t column_step = masking == Masking::on
                                         ? mask_step
                                         : std::numeric_limits<std::int64_t>::max();

// Everything that determines the dropout of a row.
struct RowMask {
    std::uint64_t key = 0;
    std::uint32_t site = 0, row = 0, position = 0;
    std::uint32_t threshold = 0;  // an element whose word is below it is dropped
    float scale = 1;
    std::uint32_t first_column = 0;  // Dropout::first_column
};

inline RowMask row_mask(const Dropout& dropout) {
    if (!dropout.active()) return {};
    require(dropout.rate < 1 && dropout.state != nullptr,
            "dropout needs a rate below 1 and the step's state");
    RowMask mask;
    mask.key = mix(dropout.state->seed, dropout.state->step);
    mask.site = dropout.site;
    mask.first_column = dropout.first_column;
    mask.threshold = static_cast<std::uint32_t>(std::ceil(double{dropout.rate} * 0x1p32));
    mask.scale = static_cast<float>(1.0 / (1.0 - double{dropout.rate}));
    return mask;
}

[[gnu::always_inline]] inline RowMask at(RowMask mask,
                                         const TokenCoordinates<HostSpace>& coordinates,
                                         std::int64_t token) {
    if (mask.threshold == 0) return mask;
    mask.row = coordinates.rows[static_cast<std::size_t>(token)];
    mask.position =
        static_cast<std::uint32_t>(coordinates.positions[static_cast<std::size_t>(token)]);
    return mask;
}

// Writes factors[j] for j < columns: the factor of column first + j, either `scale` or 0. `first`
// and the mask's first_column are multiples of 4. Elements up to the next multiple of mask_columns
// after `columns` may be written.
void mask_factors(const RowMask& mask, std::int64_t first, std::int64_t columns,
                  float* factors) noexcept;

// One of the functions that mask_factors() chooses from, all of which write the same.
struct MaskVariant {
    const char* name;
    void (*write)(const RowMask& mask, std::int64_t first, std::int64_t columns,
                  float* factors) noexcept;
};
// Returns those that this processor can run, the fastest first.
std::vector<MaskVariant> mask_variants();

}  // namespace lockstep::kernels::cpu
