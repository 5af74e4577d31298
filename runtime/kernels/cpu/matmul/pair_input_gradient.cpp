// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/cpu/matmul/pair_products.hpp"
#include "runtime/kernels/cpu/matmul/weight_chunks.hpp"
#include "runtime/kernels/cpu/matmul/word_tile.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"

namespace lockstep::kernels::cpu {

namespace {

// Multiplies rows of dy by the panels of some of the columns of w.
void multiply_part(HostMatrix<const bf16> dy, const bf16* panels, HostMatrix<bf16> dx,
                   Into into) noexcept {
    for (std::int64_t j = 0; j < dx.cols; j += panel_columns) {
        const HostMatrix<bf16> c = dx.columns(j, std::min(panel_columns, dx.cols - j));
        const bf16* const panel = panels + j / panel_columns * panel_elements<bf16>(dy.cols);
        const std::int64_t step = rows_of_tile(c.cols);
        for (std::int64_t i = 0; i < dx.rows; i += step) {
            const RowFactors<bf16> factors{dy.data + i * dy.stride, dy.stride, panel, dy.cols / 2};
            multiply_tile(factors, c.rows_from(i, std::min(step, dx.rows - i)), into);
        }
    }
}

// One thread's rows.
void multiply_share(HostMatrix<const bf16> dy, HostMatrix<const bf16> w, HostMatrix<bf16> dx,
                    Into into, bf16* panels) noexcept {
    const std::int64_t chunk = chunk_columns(w.rows);
    for (std::int64_t j = 0; j < w.cols; j += chunk) {
        const std::int64_t columns = std::min(chunk, w.cols - j);
        pack_panels(w.columns(j, columns), panels);
        for (std::int64_t i = 0; i < dy.rows; i += chunk_rows) {
            const std::int64_t rows = std::min(chunk_rows, dy.rows - i);
            multiply_part(dy.rows_from(i, rows), panels, dx.rows_from(i, rows).columns(j, columns),
                          into);
        }
    }
}

// Every thread packs the weights, which must be few for its rows. The pairs of dy are read where
// they are, so the last one must not reach beyond the row.
bool suits_input_gradient(std::int64_t rows, HostMatrix<const bf16> w,
                          std::int64_t threads) noexcept {
    constexpr std::int64_t least_rows = 512, least_out = 128, most_out = 4096;
    return rows / threads >= least_rows && fill_panels(w.cols) && w.rows >= least_out &&
           w.rows <= most_out && w.rows % 2 == 0;
}

}  // namespace

bool input_gradient_of_pairs(device::CpuContext& ctx, HostMatrix<const bf16> dy,
                             HostMatrix<const bf16> w, HostMatrix<bf16> dx, Into into) {
    const std::int64_t threads = ctx.threads();
    if (!multiplies_words<bf16>() || !suits_input_gradient(dy.rows, w, threads)) return false;
    const std::int64_t columns = std::min(chunk_columns(w.rows), w.cols);
    const std::int64_t elements = panels_of(columns) * panel_elements<bf16>(w.rows);
    bf16* const panels =
        scratch<bf16>(ctx, ScratchMemory::Slot::factor_b, threads * elements).data();
    const std::int64_t tiles = (dy.rows + tile_rows - 1) / tile_rows;
    parallel_for(ctx, threads, dy.rows * w.cols, [&](std::int64_t thread) {
        const std::int64_t first = tiles * thread / threads * tile_rows;
        const std::int64_t end = std::min(dy.rows, tiles * (thread + 1) / threads * tile_rows);
        multiply_share(dy.rows_from(first, end - first), w, dx.rows_from(first, end - first), into,
                       panels + thread * elements);
    });
    return true;
}

}  // namespace lockstep::kernels::cpu
