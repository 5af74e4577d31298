// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/pair_products.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/kernels/cpu/matmul/pair_tile.hpp"
#include "runtime/kernels/product_library.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cpu;
using device::CpuContext;
using kernels::Into;

namespace {

constexpr std::int64_t panel_row = 2 * panel_columns;

bool without_pairs() {
    if (uses_pairs()) return false;
    MESSAGE("skipped: this processor, or DNNL_MAX_CPU_ISA, has no products of pairs");
    return true;
}

std::vector<bf16> numbers_from(std::int64_t first, std::int64_t count) {
    std::vector<bf16> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(bf16(static_cast<float>(first + i)));
    return numbers;
}

std::vector<bf16> panels_of_matrix(HostMatrix<const bf16> matrix) {
    const auto count =
        static_cast<std::size_t>(panels_of(matrix.cols) * panel_elements(matrix.rows));
    std::vector<bf16> panels(count, bf16(NAN));
    pack_panels(matrix, panels.data());
    return panels;
}

}  // namespace

TEST_CASE("pairs are multiplied where oneDNN has their instruction and no faster one") {
    CHECK(uses_pairs() == kernels::product_library().ends_with("avx512_core_bf16"));
}

TEST_CASE("pairs are two rows of a column side by side, and zero where the matrix has none") {
    if (without_pairs()) return;
    const auto values = numbers_from(0, 3 * 66);
    const auto panels = panels_of_matrix({values.data(), 3, 65, 66});
    REQUIRE(panels.size() == 2 * 2 * panel_row);
    const auto at = [&](std::int64_t panel, std::int64_t pair, std::int64_t element) {
        return to_double(panels[(panel * 2 + pair) * panel_row + element]);
    };
    for (std::int64_t j = 0; j < 64; ++j) {
        REQUIRE(at(0, 0, 2 * j) == to_double(values[j]));
        REQUIRE(at(0, 0, 2 * j + 1) == to_double(values[66 + j]));
        REQUIRE(at(0, 1, 2 * j) == to_double(values[132 + j]));
        REQUIRE(at(0, 1, 2 * j + 1) == 0);
    }
    CHECK(at(1, 0, 0) == to_double(values[64]));
    CHECK(at(1, 0, 1) == to_double(values[130]));
    for (std::int64_t e = 2; e < panel_row; ++e) REQUIRE(at(1, 0, e) == 0);
}

TEST_CASE("pairs are multiplied into a part of a tile, and nothing beside it changes") {
    if (without_pairs()) return;
    const auto b_values = numbers_from(1, 4 * 3);  // 4 rows of 3 columns
    const auto b = panels_of_matrix({b_values.data(), 4, 3});
    const std::vector<bf16> a{bf16(1.0f), bf16(0.0f), bf16(2.0f), bf16(-1.0f),
                              bf16(0.0f), bf16(3.0f), bf16(0.0f), bf16(0.5f)};  // 2 rows of 4
    std::vector<bf16> c(2 * 4, bf16(8.0f));
    multiply_tile(RowTile{a.data(), 4, b.data(), 2}, HostMatrix<bf16>(c.data(), 2, 3, 4),
                  Into::overwrite);
    const float rows[2][4] = {{5, 7, 9, 8}, {17, 20.5f, 24, 8}};
    for (int i = 0; i < 8; ++i) CHECK(static_cast<float>(c[i]) == rows[i / 4][i % 4]);
    multiply_tile(RowTile{a.data(), 4, b.data(), 2}, HostMatrix<bf16>(c.data(), 1, 2, 4),
                  Into::add);
    CHECK(static_cast<float>(c[0]) == 10);
    CHECK(static_cast<float>(c[1]) == 14);
    CHECK(static_cast<float>(c[2]) == 9);
    CHECK(static_cast<float>(c[4]) == 17);

    // The first of a's columns in a panel, times all of b's columns.
    std::vector<float> d(4 * 64, 1.0f);
    multiply_tile(PanelTile{b.data(), 0, b.data(), 2}, HostMatrix<float>(d.data(), 1, 3, 64),
                  Into::add);
    CHECK(d[0] == 1 + 1 + 16 + 49 + 100);
    CHECK(d[1] == 1 + 2 + 20 + 56 + 110);
    CHECK(d[3] == 1);
    CHECK(d[64] == 1);
}

TEST_CASE("pairs give the gradients of many rows, and leave few rows to oneDNN") {
    if (without_pairs()) return;
    // More than a square of dw and than a block of rows. dw has gaps, which stay as they are.
    constexpr std::int64_t in = 1085, out = 1156, stride = in + 3;
    const auto x = random_numbers<bf16>(3073 * in, 1), dy = random_numbers<bf16>(3073 * out, 2);
    for (const int threads : {1, 2, 3}) {
        CAPTURE(threads);
        CpuContext ctx(threads);
        for (const Into into : {Into::add, Into::overwrite}) {
            std::vector<float> dw(static_cast<std::size_t>(out * stride), NAN);
            const HostMatrix<float> view(dw.data(), out, in, stride);
            if (into == Into::add)
                for (std::int64_t i = 0; i < out; ++i)
                    std::fill_n(view.data + i * stride, in, 0.5f);
            const auto gradient = [&](std::int64_t rows) {
                return weight_gradient_of_pairs(ctx, {dy.data(), rows, out}, {x.data(), rows, in},
                                                view, into);
            };
            const std::int64_t rows = threads * 1024 + 1;
            CHECK_FALSE(gradient(rows - 2));
            CHECK((into == Into::add ? dw[0] == 0.5f : std::isnan(dw[0])));
            REQUIRE(gradient(rows));
            for (std::int64_t e = 0; e < out * in; e += 997) {
                const std::int64_t i = e / in, j = e % in;
                double expected = into == Into::add ? 0.5 : 0;
                for (std::int64_t k = 0; k < rows; ++k)
                    expected += to_double(dy[k * out + i]) * to_double(x[k * in + j]);
                REQUIRE(close(double{view.data[i * stride + j]}, expected, Dtype::fp32, rows,
                              std::sqrt(rows) / 10));
            }
            for (std::int64_t i = 0; i < out; ++i) REQUIRE(std::isnan(view.data[i * stride + in]));
        }
    }
}

TEST_CASE("pairs give input gradients whose bits do not depend on the number of threads") {
    if (without_pairs()) return;
    constexpr std::int64_t rows = 1541, in = 250, out = 2050;  // weights in several parts
    const auto w = random_numbers<bf16>(out * in, 1), dy = random_numbers<bf16>(rows * out, 2);
    std::vector<std::uint16_t> first;
    for (const int threads : {1, 2, 3}) {
        CAPTURE(threads);
        CpuContext ctx(threads);
        std::vector<bf16> dx(static_cast<std::size_t>(rows * in), bf16(0.5f));
        REQUIRE(input_gradient_of_pairs(ctx, {dy.data(), rows, out}, {w.data(), out, in},
                                        {dx.data(), rows, in}, Into::add));
        for (std::int64_t i = 0; i < rows * in; i += 101) {
            double expected = 0.5;
            for (std::int64_t k = 0; k < out; ++k)
                expected += to_double(dy[i / in * out + k]) * to_double(w[k * in + i % in]);
            REQUIRE(close(to_double(dx[i]), expected, Dtype::bf16, out + 1, 4));
        }
        std::vector<std::uint16_t> bits;
        for (const bf16 value : dx) bits.push_back(value.bits);
        if (first.empty()) first = bits;
        CHECK(bits == first);
    }
}

TEST_CASE("pairs are left to oneDNN where it is faster, or where they would not fit") {
    if (without_pairs()) return;
    CpuContext ctx(2);
    const std::vector<bf16> zeros(4200 * 4200);
    const auto input = [&](std::int64_t rows, std::int64_t in, std::int64_t out) {
        std::vector<bf16> dx(static_cast<std::size_t>(rows * in));
        return input_gradient_of_pairs(ctx, {zeros.data(), rows, out}, {zeros.data(), out, in},
                                       {dx.data(), rows, in}, Into::overwrite);
    };
    CHECK(input(1024, 128, 128));
    CHECK_FALSE(input(1023, 128, 128));
    CHECK_FALSE(input(1024, 128, 129));  // the last pair would reach beyond the row
    CHECK_FALSE(input(1024, 128, 126));
    CHECK_FALSE(input(1024, 128, 4098));  // a panel would not fit
    CHECK_FALSE(input(1024, 65, 128));    // half of the second panel would be empty
    const auto weight = [&](std::int64_t rows, std::int64_t in, std::int64_t out) {
        std::vector<float> dw(static_cast<std::size_t>(in * out));
        return weight_gradient_of_pairs(ctx, {zeros.data(), rows, out}, {zeros.data(), rows, in},
                                        {dw.data(), out, in}, Into::overwrite);
    };
    CHECK(weight(2048, 128, 128));
    CHECK_FALSE(weight(2048, 64, 128));     // few elements
    CHECK_FALSE(weight(2048, 2048, 32));    // few outputs
    CHECK_FALSE(weight(2048, 160, 128));    // half of the third panel would be empty
    CHECK_FALSE(weight(2048, 2048, 2112));  // sums of 17 MiB
}
