// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx2/float_tile.hpp"

#include <immintrin.h>

#include <algorithm>

namespace lockstep::kernels::cpu::avx2 {

namespace {

template <int vectors>
struct Sums {
    __m256 of[tile_rows][vectors];
};

// Points to the elements of a tile's rows at an inner index. There are two kinds because one
// pointer is faster than four where the elements lie side by side.
class PlainPointers {
public:
    [[gnu::always_inline]] PlainPointers(const PlainRows& rows, std::int64_t count) noexcept
        : of_{rows.data} {  // the last row stands for rows that the tile lacks
#pragma GCC unroll 4
        for (int i = 1; i < tile_rows; ++i) of_[i] = of_[i - 1] + (i < count ? rows.stride : 0);
    }
    [[gnu::always_inline]] const float* at(int row, std::int64_t k) const noexcept {
        return of_[row] + k;
    }

private:
    const float* of_[tile_rows];
};
class GroupedPointers {
public:
    [[gnu::always_inline]] explicit GroupedPointers(const float* group) noexcept : data_(group) {}
    [[gnu::always_inline]] const float* at(int row, std::int64_t k) const noexcept {
        return data_ + k * tile_rows + row;
    }

private:
    const float* data_;
};
// Returns the pointers of the tile that begins at `row` and has `count` rows.
PlainPointers pointers(const PlainRows& rows, std::int64_t row, std::int64_t count) noexcept {
    return {{rows.data + row * rows.stride, rows.stride}, count};
}
GroupedPointers pointers(const GroupedRows& rows, std::int64_t row, std::int64_t) noexcept {
    return GroupedPointers(rows.data + row / tile_rows * rows.stride);
}

// Adds one element of each row times a row of the panel.
template <int vectors, class Pointers>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void add_product(
    const Pointers& rows, std::int64_t k, const float* panel, Sums<vectors>& sums) noexcept {
    __m256 columns[vectors];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) columns[v] = _mm256_load_ps(panel + v * lanes);
#pragma GCC unroll 4
    for (int i = 0; i < tile_rows; ++i) {
        const __m256 row = _mm256_broadcast_ss(rows.at(i, k));
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v)
            sums.of[i][v] = _mm256_fmadd_ps(row, columns[v], sums.of[i][v]);
    }
}

// The same for three vectors, with the row `step` of the panel and the element k + step of each
// row. The sums and the factors need all sixteen registers: GCC 12 would copy some of them, or load
// them twice, and take up to a third longer.
template <int step, class Pointers>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void add_whole_product(
    const Pointers& rows, std::int64_t k, const float* panel, Sums<3>& sums) noexcept {
    constexpr std::int64_t panel_bytes = panel_columns * sizeof(float);
    asm("vmovaps %c[at](%[panel]), %%ymm12\n"
        "vmovaps %c[at]+32(%[panel]), %%ymm13\n"
        "vmovaps %c[at]+64(%[panel]), %%ymm14\n"
        "vbroadcastss %[row0], %%ymm15\n"
        "vfmadd231ps %%ymm12, %%ymm15, %[sum00]\n"
        "vfmadd231ps %%ymm13, %%ymm15, %[sum01]\n"
        "vfmadd231ps %%ymm14, %%ymm15, %[sum02]\n"
        "vbroadcastss %[row1], %%ymm15\n"
        "vfmadd231ps %%ymm12, %%ymm15, %[sum10]\n"
        "vfmadd231ps %%ymm13, %%ymm15, %[sum11]\n"
        "vfmadd231ps %%ymm14, %%ymm15, %[sum12]\n"
        "vbroadcastss %[row2], %%ymm15\n"
        "vfmadd231ps %%ymm12, %%ymm15, %[sum20]\n"
        "vfmadd231ps %%ymm13, %%ymm15, %[sum21]\n"
        "vfmadd231ps %%ymm14, %%ymm15, %[sum22]\n"
        "vbroadcastss %[row3], %%ymm15\n"
        "vfmadd231ps %%ymm12, %%ymm15, %[sum30]\n"
        "vfmadd231ps %%ymm13, %%ymm15, %[sum31]\n"
        "vfmadd231ps %%ymm14, %%ymm15, %[sum32]\n"
        : [sum00] "+x"(sums.of[0][0]), [sum01] "+x"(sums.of[0][1]), [sum02] "+x"(sums.of[0][2]),
          [sum10] "+x"(sums.of[1][0]), [sum11] "+x"(sums.of[1][1]), [sum12] "+x"(sums.of[1][2]),
          [sum20] "+x"(sums.of[2][0]), [sum21] "+x"(sums.of[2][1]), [sum22] "+x"(sums.of[2][2]),
          [sum30] "+x"(sums.of[3][0]), [sum31] "+x"(sums.of[3][1]), [sum32] "+x"(sums.of[3][2])
        : [panel] "r"(panel), [at] "i"(step * panel_bytes), [row0] "m"(*rows.at(0, k + step)),
          [row1] "m"(*rows.at(1, k + step)), [row2] "m"(*rows.at(2, k + step)),
          [row3] "m"(*rows.at(3, k + step))
        : "xmm12", "xmm13", "xmm14", "xmm15", "memory");
}

// Adds four elements of each row times four rows of the panel.
template <int vectors, class Pointers>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void add_four_products(
    const Pointers& rows, std::int64_t k, const float* panel, Sums<vectors>& sums) noexcept {
    if constexpr (vectors == 3) {
        add_whole_product<0>(rows, k, panel, sums);
        add_whole_product<1>(rows, k, panel, sums);
        add_whole_product<2>(rows, k, panel, sums);
        add_whole_product<3>(rows, k, panel, sums);
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) add_product(rows, k + i, panel + i * panel_columns, sums);
    }
}

// Memory that is loaded into the second-level cache while a tile is calculated: cache lines that
// follow one another, or one and the same.
struct Ahead {
    const float* from;
    std::int64_t step;  // floats from line to line
};
constexpr std::int64_t products_per_line = 4;

// Returns the part of the next panel that the tile `index` loads.
Ahead ahead_of(const Panel& panel, std::int64_t index) noexcept {
    const std::int64_t before = index * (panel.inner / products_per_line) * cache_line_floats;
    if (panel.next == nullptr || before >= panel.inner * panel_columns) return {panel.data, 0};
    return {panel.next + before, cache_line_floats};
}

template <int vectors, class Pointers>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void add_products(
    const Pointers& rows, const Panel& panel, Ahead ahead, Sums<vectors>& sums) noexcept {
    const float* columns = panel.data;
    std::int64_t k = 0;
    for (; k + products_per_line <= panel.inner; k += products_per_line) {
        _mm_prefetch(ahead.from, _MM_HINT_T1);
        add_four_products(rows, k, columns, sums);
        columns += products_per_line * panel_columns;
        ahead.from += ahead.step;
    }
    for (; k < panel.inner; ++k, columns += panel_columns) add_product(rows, k, columns, sums);
}

// Writes a whole tile, whose columns are a multiple of `lanes`.
template <int vectors>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void write(
    const Sums<vectors>& sums, Into into, float* c, std::int64_t stride) noexcept {
#pragma GCC unroll 4
    for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) {
            float* const to = c + i * stride + v * lanes;
            __m256 sum = sums.of[i][v];
            if (into == Into::add) sum = _mm256_add_ps(sum, _mm256_loadu_ps(to));
            _mm256_storeu_ps(to, sum);
        }
}

// Writes a tile, which may lack rows and columns.
template <int vectors>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void write(
    const Sums<vectors>& sums, Into into, HostMatrix<float> c) noexcept {
    constexpr std::int64_t width = vectors * lanes;
    if (c.rows == tile_rows && c.cols == width) return write(sums, into, c.data, c.stride);
    float whole[tile_rows * width] = {};
    for (std::int64_t i = 0; i < c.rows && into == Into::add; ++i)
        std::copy_n(c.data + i * c.stride, c.cols, whole + i * width);
    write(sums, into, whole, width);
    for (std::int64_t i = 0; i < c.rows; ++i)
        std::copy_n(whole + i * width, c.cols, c.data + i * c.stride);
}

// A panel's part of the bias. Elements that it lacks belong to no column of the product.
template <int vectors>
class Bias {
public:
    Bias(const float* bias, std::int64_t columns) noexcept : given_(bias != nullptr) {
        if (given_) std::copy_n(bias, columns, padded_);
    }
    [[gnu::target("arch=x86-64-v3"), gnu::always_inline]] void add_to(
        Sums<vectors>& sums) const noexcept {
        if (!given_) return;
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) {
            const __m256 of_columns = _mm256_load_ps(padded_ + v * lanes);
#pragma GCC unroll 4
            for (int i = 0; i < tile_rows; ++i)
                sums.of[i][v] = _mm256_add_ps(sums.of[i][v], of_columns);
        }
    }

private:
    alignas(32) float padded_[vectors * lanes] = {};
    bool given_;
};

template <int vectors, class Rows>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void multiply_tiles(
    const Rows& rows, const Panel& panel, const float* bias, Into into, HostMatrix<float> c,
    Prefetcher<float>& prefetcher) noexcept {
    const Bias<vectors> of_columns(bias, c.cols);
    for (std::int64_t i = 0; i < c.rows; i += tile_rows) {
        prefetcher.prefetch();
        const HostMatrix<float> tile = c.rows_from(i, std::min(tile_rows, c.rows - i));
        for (std::int64_t row = 0; row < tile.rows; ++row) {
            const float* const to = tile.data + row * tile.stride;
            _mm_prefetch(to, _MM_HINT_T0);
            _mm_prefetch(to + tile.cols - 1, _MM_HINT_T0);
        }
        Sums<vectors> sums = {};  // a loop of zeros would make GCC 12 keep them in memory
        add_products(pointers(rows, i, tile.rows), panel, ahead_of(panel, i / tile_rows), sums);
        of_columns.add_to(sums);
        write(sums, into, tile);
    }
}

template <class Rows>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void multiply_columns(
    const Rows& rows, const Panel& panel, const float* bias, Into into, HostMatrix<float> c,
    Prefetcher<float>& prefetcher) noexcept {
    const std::int64_t vectors = (c.cols + lanes - 1) / lanes;
    if (vectors == 3) return multiply_tiles<3>(rows, panel, bias, into, c, prefetcher);
    if (vectors == 2) return multiply_tiles<2>(rows, panel, bias, into, c, prefetcher);
    multiply_tiles<1>(rows, panel, bias, into, c, prefetcher);
}

}  // namespace

bool has_instructions() noexcept { return __builtin_cpu_supports("x86-64-v3") != 0; }

[[gnu::target("arch=x86-64-v3")]] void multiply_panel(const PlainRows& rows, const Panel& panel,
                                                      const float* bias, Into into,
                                                      HostMatrix<float> c,
                                                      Prefetcher<float>& prefetcher) noexcept {
    multiply_columns(rows, panel, bias, into, c, prefetcher);
}
[[gnu::target("arch=x86-64-v3")]] void multiply_panel(const GroupedRows& rows, const Panel& panel,
                                                      const float* bias, Into into,
                                                      HostMatrix<float> c,
                                                      Prefetcher<float>& prefetcher) noexcept {
    multiply_columns(rows, panel, bias, into, c, prefetcher);
}

}  // namespace lockstep::kernels::cpu::avx2
