// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/cpu/matmul/pair_products.hpp"
#include "runtime/kernels/cpu/matmul/word_tile.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/prefetcher.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"

namespace lockstep::kernels::cpu {

namespace {

// A panel of so many rows fills two thirds of a first-level cache of 48 KiB. dw is calculated in
// squares, smaller ones at its edges, whose panels take 1 MiB at most.
constexpr std::int64_t block_rows = 256, square_columns = 16 * panel_columns;

// The rows of dy and x whose products are added to a square of dw.
struct Block {
    HostMatrix<const bf16> dy, x;
    HostMatrix<float> dw;
    Into into;
};

// The blocks of a product, in the order of their calculation: square by square.
class Blocks {
public:
    explicit Blocks(const Block& whole) noexcept
        : whole_(whole),
          row_blocks_(parts_of(whole.x.rows, block_rows)),
          squares_across_(parts_of(whole.dw.cols, square_columns)),
          count_(row_blocks_ * squares_across_ * parts_of(whole.dw.rows, square_columns)) {}

    std::int64_t count() const noexcept { return count_; }

    Block at(std::int64_t index) const noexcept {
        const std::int64_t first = index % row_blocks_ * block_rows;
        const std::int64_t square = index / row_blocks_;
        const std::int64_t down = square / squares_across_ * square_columns;
        const std::int64_t across = square % squares_across_ * square_columns;
        const std::int64_t rows = std::min(block_rows, whole_.x.rows - first);
        const std::int64_t dw_rows = std::min(square_columns, whole_.dw.rows - down);
        const std::int64_t dw_cols = std::min(square_columns, whole_.dw.cols - across);
        return {whole_.dy.rows_from(first, rows).columns(down, dw_rows),
                whole_.x.rows_from(first, rows).columns(across, dw_cols),
                whole_.dw.rows_from(down, dw_rows).columns(across, dw_cols),
                first == 0 ? whole_.into : Into::add};
    }

private:
    Block whole_;
    std::int64_t row_blocks_, squares_across_, count_;
};

void multiply_block(const Block& block, const bf16* a, const bf16* b,
                    Prefetcher<bf16>& prefetcher) noexcept {
    const std::int64_t panel = panel_elements<bf16>(block.x.rows);
    const std::int64_t pairs = words_of<bf16>(block.x.rows);
    for (std::int64_t j = 0; j < block.dw.cols; j += panel_columns) {
        const auto columns = block.dw.columns(j, std::min(panel_columns, block.dw.cols - j));
        const std::int64_t step = rows_of_tile(columns.cols);
        for (std::int64_t i = 0; i < block.dw.rows; i += step) {
            prefetcher.prefetch();
            const PanelFactors<bf16> factors{a + i / panel_columns * panel, i % panel_columns,
                                             b + j / panel_columns * panel, pairs};
            multiply_tile(factors, columns.rows_from(i, std::min(step, block.dw.rows - i)),
                          block.into);
        }
    }
}

// Returns the elements of the panels of the largest square.
std::int64_t packed_elements(HostMatrix<float> dw) noexcept {
    const std::int64_t down = std::min(square_columns, dw.rows);
    const std::int64_t across = std::min(square_columns, dw.cols);
    return (panels_of(down) + panels_of(across)) * panel_elements<bf16>(block_rows);
}

// One thread's work, of one row or more. `packed` has room for packed_elements() elements.
void multiply_blocks(const Blocks& blocks, bf16* packed) noexcept {
    for (std::int64_t i = 0; i < blocks.count(); ++i) {
        const Block block = blocks.at(i);
        bf16* const a = packed;
        bf16* const b = a + panels_of(block.dy.cols) * panel_elements<bf16>(block.dy.rows);
        pack_panels(block.dy, a);
        pack_panels(block.x, b);
        const Block next = i + 1 < blocks.count() ? blocks.at(i + 1) : Block{};
        const std::int64_t tiles = tiles_of(block.dy.cols, block.x.cols);
        Prefetcher<bf16> prefetcher({next.dy, next.x}, tiles);
        multiply_block(block, a, b, prefetcher);
    }
}

void add_sums(device::CpuContext& ctx, const float* sums, std::int64_t count,
              HostMatrix<float> dw) {
    parallel_for(ctx, dw.rows, count * dw.rows * dw.cols, [&](std::int64_t i) {
        float* const to = dw.data + i * dw.stride;
        for (std::int64_t s = 0; s < count; ++s) {
            const float* const from = sums + (s * dw.rows + i) * dw.cols;
            for (std::int64_t j = 0; j < dw.cols; ++j) to[j] += from[j];
        }
    });
}

// Each thread has so many rows that adding the threads' sums takes little time beside them. The
// sums of all threads but one take 16 MiB at most.
bool suits_weight_gradient(std::int64_t rows, HostMatrix<float> dw, std::int64_t threads) noexcept {
    constexpr std::int64_t least_rows = 1024, least_elements = 16384;
    constexpr std::int64_t most_sums = std::int64_t{4} << 20;
    const std::int64_t elements = dw.rows * dw.cols;
    return rows / threads >= least_rows && fill_panels(dw.cols) && dw.rows >= panel_columns &&
           elements >= least_elements && (threads - 1) * elements <= most_sums;
}

}  // namespace

// The threads divide the rows, and each but the first has sums of its own. A thread then reads rows
// that it has written itself in most passes, which is faster where threads do not share a cache,
// and no row is packed twice.
bool weight_gradient_of_pairs(device::CpuContext& ctx, HostMatrix<const bf16> dy,
                              HostMatrix<const bf16> x, HostMatrix<float> dw, Into into) {
    using Slot = ScratchMemory::Slot;
    const std::int64_t threads = ctx.threads(), elements = dw.rows * dw.cols;
    if (!multiplies_words<bf16>() || !suits_weight_gradient(x.rows, dw, threads)) return false;
    float* const sums = scratch<float>(ctx, Slot::result, (threads - 1) * elements).data();
    bf16* const packed = scratch<bf16>(ctx, Slot::factor_a, threads * packed_elements(dw)).data();
    parallel_for(ctx, threads, x.rows * elements, [&](std::int64_t thread) {
        const std::int64_t first = x.rows * thread / threads;
        const std::int64_t rows = x.rows * (thread + 1) / threads - first;
        Block part{dy.rows_from(first, rows), x.rows_from(first, rows), dw, into};
        if (thread > 0) {
            part.dw = {sums + (thread - 1) * elements, dw.rows, dw.cols};
            part.into = Into::overwrite;
        }
        multiply_blocks(Blocks(part), packed + thread * packed_elements(dw));
    });
    if (threads > 1) add_sums(ctx, sums, threads - 1, dw);
    return true;
}

}  // namespace lockstep::kernels::cpu
