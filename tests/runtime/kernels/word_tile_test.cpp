// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/word_tile.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/kernels/product_library.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cpu;
using kernels::Into;

namespace {

template <class T>
bool without_words() {
    if (multiplies_words<T>()) return false;
    MESSAGE("skipped: this processor, or DNNL_MAX_CPU_ISA, has no products of words");
    return true;
}

template <class T>
struct Packed {
    std::vector<T> values;
    std::int64_t rows;

    // Returns the element (row, col) of the matrix, or what fills its place.
    double at(std::int64_t row, std::int64_t col) const {
        const std::int64_t word = row / word_elements<T>, element = row % word_elements<T>;
        const std::int64_t row_elements = panel_columns * word_elements<T>;
        return to_double(values[static_cast<std::size_t>(
            col / panel_columns * panel_elements<T>(rows) + word * row_elements +
            col % panel_columns * word_elements<T> + element)]);
    }
};

template <class T>
Packed<T> room_for(std::int64_t rows, std::int64_t cols) {
    const std::int64_t count = panels_of(cols) * panel_elements<T>(rows);
    return {std::vector<T>(static_cast<std::size_t>(count), static_cast<T>(NAN)), rows};
}

template <class T>
Packed<T> panels_of_matrix(HostMatrix<const T> matrix) {
    auto packed = room_for<T>(matrix.rows, matrix.cols);
    pack_panels(matrix, packed.values.data());
    return packed;
}

template <class T>
Packed<T> panels_of_transposed(HostMatrix<const T> matrix) {
    auto packed = room_for<T>(matrix.cols, matrix.rows);
    pack_transposed(matrix, packed.values.data());
    return packed;
}

// Checks every element, and zeros in place of rows and columns that the matrix lacks.
template <class T, class At>
void check_panels(const Packed<T>& packed, std::int64_t rows, std::int64_t cols, const At& at) {
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < words_of<T>(rows) * word_elements<T>; ++i)
        for (std::int64_t j = 0; j < panels_of(cols) * panel_columns; ++j) {
            const double expected = i < rows && j < cols ? at(i, j) : 0.0;
            if (!(packed.at(i, j) == expected)) ++wrong;
        }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("words are multiplied where oneDNN has their instructions") {
    const std::string library = kernels::product_library();
    CHECK(multiplies_words<bf16>() == library.ends_with("avx512_core_bf16"));
    CHECK(multiplies_words<float>() ==
          (library.ends_with("avx512_core_bf16") || library.ends_with("avx512_core_amx")));
}

TEST_CASE_TEMPLATE("panels have a word of each column side by side, and zeros in gaps", T, float,
                   bf16) {
    if (without_words<T>()) return;
    for (const std::int64_t rows : {1, 2, 3, 16, 17, 33, 70})
        for (const std::int64_t cols : {1, 2, 5, 15, 16, 31, 33, 64, 65, 130}) {
            CAPTURE(rows);
            CAPTURE(cols);
            // The gap behind each row is NaN.
            const std::int64_t stride = cols + 3;
            auto values = random_numbers<T>(rows * stride, 1);
            for (std::int64_t i = 0; i < rows; ++i)
                std::fill_n(values.begin() + i * stride + cols, 3, static_cast<T>(NAN));
            const HostMatrix<const T> matrix(values.data(), rows, cols, stride);
            const auto at = [&](std::int64_t i, std::int64_t j) {
                return to_double(values[static_cast<std::size_t>(i * stride + j)]);
            };
            check_panels(panels_of_matrix(matrix), rows, cols, at);
            check_panels(panels_of_transposed(matrix), cols, rows,
                         [&](std::int64_t i, std::int64_t j) { return at(j, i); });
        }
}

namespace {

// Calculates a tile in the middle of a matrix of NaN, or of ones if it is added to.
template <class C, class Tile>
void check_tile(const Tile& tile, std::int64_t rows, std::int64_t cols, Into into,
                const std::vector<double>& expected, std::int64_t terms) {
    constexpr std::int64_t stride = panel_columns + 2;
    const double before = into == Into::add ? 1 : 0;
    std::vector<C> values(static_cast<std::size_t>((rows + 2) * stride), static_cast<C>(NAN));
    const HostMatrix<C> c(values.data() + stride + 1, rows, cols, stride);
    if (into == Into::add)
        for (std::int64_t i = 0; i < rows; ++i)
            std::fill_n(c.data + i * stride, cols, static_cast<C>(1.0f));
    multiply_tile(tile, c, into);
    std::int64_t wrong = 0, touched = 0;
    for (std::int64_t i = -1; i <= rows; ++i)
        for (std::int64_t j = -1; j <= panel_columns; ++j) {
            const double actual = to_double(c.data[i * stride + j]);
            if (i < 0 || i == rows || j < 0 || j >= cols)
                touched += std::isnan(actual) ? 0 : 1;
            else if (!close(actual, expected[i * panel_columns + j] + before, dtype_of<C>, terms))
                ++wrong;
        }
    CHECK(wrong == 0);
    CHECK(touched == 0);
}

template <class T, class C>
void check_tiles(std::int64_t rows, std::int64_t cols, std::int64_t words) {
    CAPTURE(rows);
    CAPTURE(cols);
    CAPTURE(words);
    const std::int64_t depth = words * word_elements<T>, stride = depth + 5;
    const auto a = random_numbers<T>(rows * stride, 1), b = random_numbers<T>(depth * cols, 2);
    // a's columns are rows of this matrix; the tile begins at its second group of columns.
    const std::int64_t first = rows_of_tile(cols);
    std::vector<T> turned(static_cast<std::size_t>(depth * panel_columns), static_cast<T>(NAN));
    for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t i = 0; i < rows; ++i)
            turned[static_cast<std::size_t>(k * panel_columns + first + i)] = a[i * stride + k];
    const auto turned_panel =
        panels_of_matrix(HostMatrix<const T>(turned.data(), depth, panel_columns));
    const auto panel = panels_of_matrix(HostMatrix<const T>(b.data(), depth, cols));
    std::vector<double> expected(static_cast<std::size_t>(rows * panel_columns));
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < cols; ++j)
            for (std::int64_t k = 0; k < depth; ++k)
                expected[i * panel_columns + j] +=
                    to_double(a[i * stride + k]) * to_double(b[k * cols + j]);
    for (const Into into : {Into::overwrite, Into::add}) {
        check_tile<C>(RowFactors<T>{a.data(), stride, panel.values.data(), words}, rows, cols, into,
                      expected, depth);
        check_tile<C>(
            PanelFactors<T>{turned_panel.values.data(), first, panel.values.data(), words}, rows,
            cols, into, expected, depth);
    }
}

template <class T, class C>
void check_all_tiles() {
    if (without_words<T>()) return;
    for (const std::int64_t cols : {1, 15, 16, 17, 32, 33, 47, 48, 49, 63, 64})
        for (std::int64_t rows = 1; rows <= rows_of_tile(cols); ++rows)
            for (const std::int64_t words : {0, 1, 7, 64}) check_tiles<T, C>(rows, cols, words);
}

}  // namespace

TEST_CASE("tiles of words are the products of their factors, and nothing beside them changes") {
    check_all_tiles<float, float>();
    check_all_tiles<bf16, float>();
    check_all_tiles<bf16, bf16>();
}
