// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx2/float_product.hpp"

#include <omp.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/prefetcher.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"

// The loops are those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication"
// (2008): a panel of b stays in the first-level cache, a block of a in the second.
namespace lockstep::kernels::cpu::avx2 {

namespace {

// A panel of so many inner elements takes 24 KiB, and so many rows of a take about 96 KiB. Halves
// of the rows are whole tiles, too.
constexpr std::int64_t block_inner = 256, most_rows = 96;
static_assert(most_rows % (4 * tile_rows) == 0);

// The part of b that is packed at a time: about 4 MiB at most, which a third-level cache keeps. It
// has all columns unless they are more than 4,080, and whole blocks of inner elements but for the
// last one.
struct ChunkSizes {
    std::int64_t inner, columns;
};
ChunkSizes chunk_sizes(std::int64_t inner, std::int64_t columns) noexcept {
    constexpr std::int64_t most_floats = std::int64_t{1} << 20, most_inner = 8 * block_inner;
    const std::int64_t padded = panels_of(columns) * panel_columns;
    const std::int64_t fit = most_floats / padded / block_inner * block_inner;
    const std::int64_t inner_taken = std::min(inner, std::clamp(fit, block_inner, most_inner));
    return {inner_taken,
            std::min(padded, most_floats / inner_taken / panel_columns * panel_columns)};
}

// A cache line lies between two panels, and between two groups. Without it whole ones would be a
// multiple of 4 KiB apart, so that their elements of one row would share few sets of the caches and
// evict each other while rows are packed.
constexpr std::int64_t panel_pitch(std::int64_t inner) noexcept {
    return inner * panel_columns + cache_line_floats;
}
constexpr std::int64_t group_pitch(std::int64_t inner) noexcept {
    return inner * tile_rows + cache_line_floats;
}

// A chunk of b, as panels of each of its blocks of inner elements.
class PackedChunk {
public:
    // Returns how many floats the largest chunk takes.
    static std::int64_t floats(const ChunkSizes& sizes) noexcept {
        return panels_of(sizes.columns) * (sizes.inner * panel_columns +
                                           parts_of(sizes.inner, block_inner) * cache_line_floats);
    }

    PackedChunk(const FloatFactor& b, float* memory) noexcept : b_(b), memory_(memory) {}

    std::int64_t inner() const noexcept { return b_.inner(); }
    std::int64_t columns() const noexcept { return b_.outer(); }
    std::int64_t panels() const noexcept { return panels_of(b_.outer()); }
    // Returns the inner elements of the block that begins at `first`.
    std::int64_t inner_from(std::int64_t first) const noexcept {
        return std::min(block_inner, inner() - first);
    }
    // Returns a panel of that block.
    float* panel(std::int64_t first, std::int64_t index) const noexcept {
        return memory_ + first / block_inner * panels() * panel_pitch(block_inner) +
               index * panel_pitch(inner_from(first));
    }

    // Threads divide rows that are contiguous, or panels.
    void pack(device::CpuContext& ctx) const {
        constexpr std::int64_t rows = 32;
        const bool by_rows = b_.side == Side::plain;
        const std::int64_t across = by_rows ? 1 : panels();
        const std::int64_t step = by_rows ? rows : block_inner;
        static_assert(block_inner % rows == 0);
        parallel_for(ctx, parts_of(inner(), step) * across, inner() * columns(),
                     [&](std::int64_t part) {
                         const std::int64_t first = part / across * step;
                         const std::int64_t count = std::min(step, inner() - first);
                         if (by_rows)
                             pack_part(first, count, 0, panels());
                         else
                             pack_part(first, count, part % across, 1);
                     });
    }

private:
    void pack_part(std::int64_t first, std::int64_t count, std::int64_t first_panel,
                   std::int64_t panel_count) const noexcept {
        const std::int64_t block = first / block_inner * block_inner;
        const std::int64_t column = first_panel * panel_columns;
        const std::int64_t width = std::min(panel_count * panel_columns, columns() - column);
        pack_panels(b_.part(first, count, column, width),
                    panel(block, first_panel) + (first - block) * panel_columns,
                    panel_pitch(inner_from(block)));
    }

    FloatFactor b_;
    float* memory_;
};

// What a chunk of b is multiplied by, and where the product goes. a has the chunk's inner elements,
// bias and c have its columns.
struct ChunkOperands {
    FloatFactor a;
    const float* bias;
    Into into;
    HostMatrix<float> c;
};

// The product of a chunk. The tasks are its parts of some rows and some panels, enough of them that
// the threads end at about the same time. There are rather few rows than few panels in a task,
// because each task packs its rows of a.
class ChunkProduct {
public:
    ChunkProduct(const ChunkOperands& operands, const PackedChunk& b, int threads) noexcept
        : p_(operands), b_(b), threads_(threads), task_rows_(most_rows), task_panels_(b.panels()) {
        constexpr std::int64_t tasks_per_thread = 4, least_rows = 24, least_panels = 4;
        const std::int64_t enough = threads == 1 ? 1 : tasks_per_thread * threads;
        while (tasks() < enough && task_rows_ > least_rows) task_rows_ /= 2;
        while (tasks() < enough && task_panels_ > least_panels)
            task_panels_ = (task_panels_ + 1) / 2;
    }

    std::int64_t tasks() const noexcept {
        return parts_of(p_.c.rows, task_rows_) * parts_of(b_.panels(), task_panels_);
    }

    // `groups` has room for a block of a.
    void run(std::int64_t task, float* groups) const noexcept {
        const std::int64_t across = parts_of(b_.panels(), task_panels_);
        const std::int64_t row = task / across * task_rows_;
        const std::int64_t first = task % across * task_panels_;
        const std::int64_t end = std::min(b_.panels(), first + task_panels_);
        // The thread's next task, if the others are as fast.
        const std::int64_t next_row = (task + threads_) / across * task_rows_;
        for (std::int64_t block = 0; block < b_.inner(); block += block_inner) {
            const FloatFactor a = block_of_a(row, block);
            if (a.side == Side::plain) pack_groups(a.lines, groups, group_pitch(a.inner()));
            const bool last = block + block_inner >= b_.inner();
            const FloatFactor next =
                last ? block_of_a(next_row, 0) : block_of_a(row, block + block_inner);
            Prefetcher<float> prefetcher({next.lines, {}},
                                         (end - first) * parts_of(a.outer(), tile_rows));
            const HostMatrix<float> c = p_.c.rows_from(row, a.outer());
            for (std::int64_t j = first; j < end; ++j) {
                if (a.side == Side::plain)
                    multiply_columns(GroupedRows{groups, group_pitch(a.inner())}, {j, end}, block,
                                     c, prefetcher);
                else
                    multiply_columns(PlainRows{a.lines.data, a.lines.stride}, {j, end}, block, c,
                                     prefetcher);
            }
        }
    }

private:
    // Returns an empty factor if there are no such rows.
    FloatFactor block_of_a(std::int64_t row, std::int64_t block) const noexcept {
        const std::int64_t rows = std::clamp<std::int64_t>(p_.c.rows - row, 0, task_rows_);
        return p_.a.part(block, b_.inner_from(block), rows == 0 ? 0 : row, rows);
    }

    // The panels that a task still multiplies.
    struct PanelsLeft {
        std::int64_t first, end;
    };

    // Multiplies the first of them.
    template <class Rows>
    void multiply_columns(const Rows& rows, PanelsLeft left, std::int64_t block,
                          HostMatrix<float> c, Prefetcher<float>& prefetcher) const noexcept {
        const std::int64_t inner = b_.inner_from(block), column = left.first * panel_columns;
        const float* const next =
            left.first + 1 < left.end ? b_.panel(block, left.first + 1) : nullptr;
        const float* const bias = block == 0 && p_.bias != nullptr ? p_.bias + column : nullptr;
        multiply_panel(rows, {b_.panel(block, left.first), inner, next}, bias,
                       block == 0 ? p_.into : Into::add,
                       c.columns(column, std::min(panel_columns, b_.columns() - column)),
                       prefetcher);
    }

    ChunkOperands p_;
    PackedChunk b_;
    std::int64_t threads_, task_rows_, task_panels_;
};

}  // namespace

bool usable() noexcept {
    static const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return (isa == dnnl::cpu_isa::avx2 || isa == dnnl::cpu_isa::avx2_vnni) && has_instructions();
}

// With fewer rows or inner elements oneDNN is up to twice as fast, because it packs less.
bool suits(const FloatProduct& product) noexcept {
    constexpr std::int64_t least_rows = 128, least_columns = 16, least_inner = 128;
    return product.c.rows >= least_rows && product.c.cols >= least_columns &&
           product.a.inner() >= least_inner;
}

void multiply(device::CpuContext& ctx, const FloatProduct& p) {
    const std::int64_t inner = p.a.inner();
    const ChunkSizes sizes = chunk_sizes(inner, p.c.cols);
    const std::int64_t block_floats = most_rows / tile_rows * group_pitch(block_inner);
    const std::int64_t chunk_floats = PackedChunk::floats(sizes);
    const int threads = ctx.threads(), team = cached<TeamSize>(ctx).of(threads);
    float* const packed =
        scratch<float>(ctx, ScratchMemory::Slot::packed, chunk_floats + threads * block_floats)
            .data();
    float* const groups = packed + chunk_floats;
    for (std::int64_t column = 0; column < p.c.cols; column += sizes.columns) {
        const std::int64_t columns = std::min(sizes.columns, p.c.cols - column);
        for (std::int64_t first = 0; first < inner; first += sizes.inner) {
            const std::int64_t count = std::min(sizes.inner, inner - first);
            const PackedChunk b(p.b.part(first, count, column, columns), packed);
            b.pack(ctx);
            const ChunkProduct chunk(
                {p.a.part(first, count, 0, p.c.rows),
                 p.bias != nullptr && first == 0 ? p.bias + column : nullptr,
                 first == 0 ? p.into : Into::add, p.c.columns(column, columns)},
                b, threads);
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
            for (std::int64_t task = 0; task < chunk.tasks(); ++task)
                chunk.run(task, groups + omp_get_thread_num() * block_floats);
        }
    }
}

}  // namespace lockstep::kernels::cpu::avx2
