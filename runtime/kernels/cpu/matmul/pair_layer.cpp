// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/cpu/avx512/dropout_rows.hpp"
#include "runtime/kernels/cpu/matmul/pair_products.hpp"
#include "runtime/kernels/cpu/matmul/weight_chunks.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"

namespace lockstep::kernels::cpu {

namespace {

// Some outputs of a layer. The bias is null or has an element for each of them.
struct Part {
    HostMatrix<const bf16> x, w;
    const bf16* bias;
    HostMatrix<bf16> y;
    std::int64_t first_output;  // of the whole layer
    const AfterProduct& after;
};

// Multiplies rows of x by a panel of weights, of which y has the columns.
void multiply_panel(HostMatrix<const bf16> x, const bf16* panel, const LayerEnd& end,
                    HostMatrix<bf16> y) noexcept {
    const std::int64_t step = rows_of_tile(y.cols);
    for (std::int64_t i = 0; i < x.rows; i += step)
        multiply_layer_tile({x.data + i * x.stride, x.stride, panel, x.cols / 2}, end,
                            y.rows_from(i, std::min(step, x.rows - i)));
}

// Applies the mask to elements of y, of which the first belongs to row `row` and output `output` of
// the whole layer. A panel begins at a multiple of 4 outputs, as a mask needs it. Products of pairs
// are used only where avx512::usable() is true.
void drop(const AfterProduct& after, std::int64_t row, std::int64_t output, HostMatrix<bf16> y) {
    if (after.mask.threshold == 0) return;
    for (std::int64_t i = 0; i < y.rows; ++i) {
        bf16* const values = y.data + i * y.stride;
        avx512::dropout_row(at(after.mask, after.coordinates, row + i), output, values, values,
                            y.cols);
    }
}

// `panels` has room for the panels of chunk_columns() outputs, or of all if there are fewer.
void multiply_part(const Part& p, bf16* panels) noexcept {
    const std::int64_t chunk = chunk_columns(p.x.cols), panel = panel_elements<bf16>(p.x.cols);
    for (std::int64_t first = 0; first < p.w.rows; first += chunk) {
        const std::int64_t columns = std::min(chunk, p.w.rows - first);
        pack_transposed(p.w.rows_from(first, columns), panels);
        for (std::int64_t i = 0; i < p.x.rows; i += chunk_rows) {
            const std::int64_t rows = std::min(chunk_rows, p.x.rows - i);
            for (std::int64_t j = 0; j < columns; j += panel_columns) {
                const std::int64_t width = std::min(panel_columns, columns - j);
                bf16 bias[panel_columns] = {};
                if (p.bias != nullptr) std::copy_n(p.bias + first + j, width, bias);
                multiply_panel(p.x.rows_from(i, rows), panels + j / panel_columns * panel,
                               {p.bias == nullptr ? nullptr : bias, p.after.rectifier},
                               p.y.rows_from(i, rows).columns(first + j, width));
            }
            drop(p.after, i, p.first_output + first,
                 p.y.rows_from(i, rows).columns(first, columns));
        }
    }
}

// Every thread has enough panels to be busy for about as long as the others, and enough rows that
// packing its weights takes little time beside them. x's last pair must not reach beyond its row.
bool suits_layer(std::int64_t rows, HostMatrix<const bf16> w, std::int64_t threads) noexcept {
    constexpr std::int64_t least_rows = 256, least_in = 128, most_in = 4096, least_panels = 2;
    return rows >= least_rows && w.cols >= least_in && w.cols <= most_in && w.cols % 2 == 0 &&
           fill_panels(w.rows) && w.rows >= least_panels * threads * panel_columns;
}

}  // namespace

// The threads divide the outputs, so that no weight is packed twice.
bool layer_of_pairs(device::CpuContext& ctx, HostMatrix<const bf16> x, HostMatrix<const bf16> w,
                    HostView<const bf16> bias, const AfterProduct& after, HostMatrix<bf16> y) {
    const std::int64_t threads = ctx.threads();
    if (!multiplies_words<bf16>() || !suits_layer(x.rows, w, threads)) return false;
    const std::int64_t columns = std::min(chunk_columns(x.cols), w.rows);
    const std::int64_t elements = panels_of(columns) * panel_elements<bf16>(x.cols);
    bf16* const panels =
        scratch<bf16>(ctx, ScratchMemory::Slot::factor_b, threads * elements).data();
    parallel_for(ctx, threads, x.rows * w.rows, [&](std::int64_t thread) {
        const std::int64_t first = panels_of(w.rows) * thread / threads * panel_columns;
        const std::int64_t end =
            std::min(w.rows, panels_of(w.rows) * (thread + 1) / threads * panel_columns);
        multiply_part(
            {x, w.rows_from(first, end - first), bias.empty() ? nullptr : bias.data() + first,
             y.columns(first, end - first), first, after},
            panels + thread * elements);
    });
    return true;
}

}  // namespace lockstep::kernels::cpu
