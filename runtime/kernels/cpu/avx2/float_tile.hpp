// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/kernels/into.hpp"

// The inner part of matrix products of floats by AVX2, of factors that float_panels.hpp describes.
// Where has_instructions() is false, this code ends the process by an illegal instruction.
namespace lockstep::kernels::cpu::avx2 {

// Returns whether the processor has the instructions of x86-64-v3.
bool has_instructions() noexcept;

// A tile's sums fill twelve of the sixteen registers, which hides the latency of the instructions.
constexpr std::int64_t tile_rows = 4, panel_columns = 24;
constexpr std::int64_t lanes = 8;  // floats of a vector

// The rows of a tile, tile_rows of them: those of a matrix, `stride` apart, of which a tile with
// fewer rows reads its own only, or a group [inner, tile_rows].
struct PlainRows {
    const float* data;
    std::int64_t stride;
};
struct GroupedRows {
    const float* data;
};

struct TilePanel {
    const float* data;   // [inner, panel_columns], 32-byte aligned
    std::int64_t inner;  // one or more
};

// Loads memory into the second-level cache while a tile is calculated: a cache line in each of
// cache_lines_ahead(inner) places, or the same one each time.
struct Ahead {
    const float* from;
    std::int64_t step;  // floats from place to place
};
constexpr std::int64_t cache_line_floats = 16;
constexpr std::int64_t cache_lines_ahead(std::int64_t inner) noexcept { return inner / 4; }

// Calculates a tile c of 1 to tile_rows rows and 1 to panel_columns columns: c = or += rows *
// panel, plus the bias of c's columns if it is not null.
void multiply_tile(const PlainRows& rows, const TilePanel& panel, const Ahead& ahead,
                   const float* bias, Into into, HostMatrix<float> c) noexcept;
void multiply_tile(const GroupedRows& rows, const TilePanel& panel, const Ahead& ahead,
                   const float* bias, Into into, HostMatrix<float> c) noexcept;

}  // namespace lockstep::kernels::cpu::avx2
