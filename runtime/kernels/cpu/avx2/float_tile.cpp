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
    [[gnu::always_inline]] GroupedPointers(const GroupedRows& rows, std::int64_t) noexcept
        : data_(rows.data) {}
    [[gnu::always_inline]] const float* at(int row, std::int64_t k) const noexcept {
        return data_ + k * tile_rows + row;
    }

private:
    const float* data_;
};
PlainPointers pointers(const PlainRows& rows, std::int64_t count) noexcept { return {rows, count}; }
GroupedPointers pointers(const GroupedRows& rows, std::int64_t count) noexcept {
    return {rows, count};
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

template <int vectors, class Pointers>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void add_products(
    const Pointers& rows, const TilePanel& panel, const Ahead& ahead,
    Sums<vectors>& sums) noexcept {
    const float *columns = panel.data, *next = ahead.from;
    std::int64_t k = 0;
    for (; k + 4 <= panel.inner; k += 4, columns += 4 * panel_columns, next += ahead.step) {
        _mm_prefetch(next, _MM_HINT_T1);
        add_four_products(rows, k, columns, sums);
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

// Elements that the bias lacks belong to no column of the tile.
template <int vectors>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void add_bias(
    const float* bias, std::int64_t columns, Sums<vectors>& sums) noexcept {
    float padded[vectors * lanes] = {};
    std::copy_n(bias, columns, padded);
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
        const __m256 of_columns = _mm256_loadu_ps(padded + v * lanes);
#pragma GCC unroll 4
        for (int i = 0; i < tile_rows; ++i)
            sums.of[i][v] = _mm256_add_ps(sums.of[i][v], of_columns);
    }
}

template <int vectors, class Rows>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void calculate(
    const Rows& rows, const TilePanel& panel, const Ahead& ahead, const float* bias, Into into,
    HostMatrix<float> c) noexcept {
    for (std::int64_t i = 0; i < c.rows; ++i) {
        const float* const row = c.data + i * c.stride;
        _mm_prefetch(row, _MM_HINT_T0);
        _mm_prefetch(row + c.cols - 1, _MM_HINT_T0);
    }
    Sums<vectors> sums = {};  // a loop of zeros would make GCC 12 keep them in memory
    add_products(pointers(rows, c.rows), panel, ahead, sums);
    if (bias != nullptr) add_bias(bias, c.cols, sums);
    write(sums, into, c);
}

template <class Rows>
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void calculate_tile(
    const Rows& rows, const TilePanel& panel, const Ahead& ahead, const float* bias, Into into,
    HostMatrix<float> c) noexcept {
    const std::int64_t vectors = (c.cols + lanes - 1) / lanes;
    if (vectors == 3) return calculate<3>(rows, panel, ahead, bias, into, c);
    if (vectors == 2) return calculate<2>(rows, panel, ahead, bias, into, c);
    calculate<1>(rows, panel, ahead, bias, into, c);
}

}  // namespace

bool has_instructions() noexcept { return __builtin_cpu_supports("x86-64-v3") != 0; }

[[gnu::target("arch=x86-64-v3")]] void multiply_tile(const PlainRows& rows, const TilePanel& panel,
                                                     const Ahead& ahead, const float* bias,
                                                     Into into, HostMatrix<float> c) noexcept {
    calculate_tile(rows, panel, ahead, bias, into, c);
}
[[gnu::target("arch=x86-64-v3")]] void multiply_tile(const GroupedRows& rows,
                                                     const TilePanel& panel, const Ahead& ahead,
                                                     const float* bias, Into into,
                                                     HostMatrix<float> c) noexcept {
    calculate_tile(rows, panel, ahead, bias, into, c);
}

}  // namespace lockstep::kernels::cpu::avx2
