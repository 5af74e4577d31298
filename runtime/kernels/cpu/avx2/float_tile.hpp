// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/kernels/cpu/primitives/prefetcher.hpp"
#include "runtime/kernels/into.hpp"

// The inner part of matrix products of floats by AVX2, of factors that float_panels.hpp describes.
// Where has_instructions() is false, this code ends the process by an illegal instruction.
namespace lockstep::kernels::cpu::avx2 {

// Returns whether the processor has the instructions of x86-64-v3.
bool has_instructions() noexcept;

// A tile's sums fill twelve of the sixteen registers, which hides the latency of the instructions.
constexpr std::int64_t tile_rows = 4, panel_columns = 24;
constexpr std::int64_t lanes = 8;  // floats of a vector
constexpr std::int64_t cache_line_floats = 16;

// The rows of a product: those of a matrix, `stride` apart, of which only the product's own are
// read, or groups [inner, tile_rows] of them, `stride` apart, of which the last one may have
// elements that no row of the product needs.
struct PlainRows {
    const float* data;
    std::int64_t stride;
};
struct GroupedRows {
    const float* data;
    std::int64_t stride;
};

struct Panel {
    const float* data;   // [inner, panel_columns], 32-byte aligned
    std::int64_t inner;  // one or more
    const float* next;   // a panel of the same size to be loaded into a cache meanwhile, or null
};

// Calculates 1 to panel_columns columns of a product, with any number of rows: c = or += rows *
// panel, plus the bias of c's columns if it is not null. Calls `prefetcher` once for each tile of
// c.
void multiply_panel(const PlainRows& rows, const Panel& panel, const float* bias, Into into,
                    HostMatrix<float> c, Prefetcher<float>& prefetcher) noexcept;
void multiply_panel(const GroupedRows& rows, const Panel& panel, const float* bias, Into into,
                    HostMatrix<float> c, Prefetcher<float>& prefetcher) noexcept;

}  // namespace lockstep::kernels::cpu::avx2
