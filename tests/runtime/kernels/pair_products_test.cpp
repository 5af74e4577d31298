// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/pair_products.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/kernels/cpu/matmul/word_tile.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/dropout_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cpu;
using device::CpuContext;
using kernels::Dropout;
using kernels::Into;
using kernels::StepState;

namespace {

bool without_pairs() {
    if (multiplies_words<bf16>()) return false;
    MESSAGE("skipped: this processor, or DNNL_MAX_CPU_ISA, has no products of pairs");
    return true;
}

}  // namespace

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

TEST_CASE("pairs give weight gradients whose last panel is narrow") {
    if (without_pairs()) return;
    constexpr std::int64_t rows = 1024, in = 1040, out = 67;
    const auto x = random_numbers<bf16>(rows * in, 1), dy = random_numbers<bf16>(rows * out, 2);
    std::vector<float> dw(static_cast<std::size_t>(out * in), NAN);
    CpuContext ctx(1);
    REQUIRE(weight_gradient_of_pairs(ctx, {dy.data(), rows, out}, {x.data(), rows, in},
                                     {dw.data(), out, in}, Into::overwrite));
    for (std::int64_t i = 0; i < out; ++i)
        for (std::int64_t j = in - 20; j < in; ++j) {
            double expected = 0;
            for (std::int64_t k = 0; k < rows; ++k)
                expected += to_double(dy[k * out + i]) * to_double(x[k * in + j]);
            REQUIRE(close(double{dw[i * in + j]}, expected, Dtype::fp32, rows, 4));
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

TEST_CASE("pairs give layers whose bits do not depend on the number of threads") {
    if (without_pairs()) return;
    constexpr std::int64_t rows = 261, in = 130, out = 2040, stride = in + 3;  // in several parts
    auto x = random_numbers<bf16>(rows * stride, 1);
    const auto w = random_numbers<bf16>(out * in, 2), bias = random_numbers<bf16>(out, 3);
    x[5 * stride + 7] = bf16(NAN);
    for (const auto rectifier : {Rectifier::none, Rectifier::relu})
        for (const bool biased : {false, true}) {
            std::vector<std::uint16_t> first;
            for (const int threads : {1, 2, 3}) {
                CAPTURE(threads);
                CpuContext ctx(threads);
                std::vector<bf16> y(static_cast<std::size_t>(rows * (out + 1)), bf16(9.0f));
                const HostMatrix<const bf16> from(x.data(), rows, in, stride);
                REQUIRE(layer_of_pairs(ctx, from, {w.data(), out, in},
                                       biased ? const_view_of(bias) : HostView<const bf16>(),
                                       {rectifier}, {y.data(), rows, out, out + 1}));
                for (std::int64_t e = 0; e < rows * out; e += 37) {
                    const std::int64_t i = e / out, j = e % out;
                    const double actual = to_double(y[i * (out + 1) + j]);
                    if (i == 5) {
                        REQUIRE(std::isnan(actual));
                        continue;
                    }
                    double expected = biased ? to_double(bias[j]) : 0;
                    for (std::int64_t k = 0; k < in; ++k)
                        expected += to_double(x[i * stride + k]) * to_double(w[j * in + k]);
                    if (rectifier == Rectifier::relu) expected = std::max(expected, 0.0);
                    REQUIRE(close(actual, expected, Dtype::bf16, in, 4));
                }
                for (std::int64_t i = 0; i < rows; ++i)
                    REQUIRE(to_double(y[i * (out + 1) + out]) == 9);
                std::vector<std::uint16_t> bits;
                for (const bf16 value : y) bits.push_back(value.bits);
                if (first.empty()) first = bits;
                CHECK(bits == first);
            }
        }
}

TEST_CASE("pairs give layers whose last tile has any number of vectors") {
    if (without_pairs()) return;
    constexpr std::int64_t rows = 256, in = 128, stride = 512;
    const auto x = random_numbers<bf16>(rows * in, 1), w = random_numbers<bf16>(500 * in, 2);
    CpuContext ctx(1);
    for (const std::int64_t out : {448 + 9, 448 + 25, 448 + 42, 448 + 48, 448 + 52}) {
        CAPTURE(out);
        std::vector<bf16> y(static_cast<std::size_t>(rows * stride), bf16(9.0f));
        REQUIRE(layer_of_pairs(ctx, {x.data(), rows, in}, {w.data(), out, in}, {}, {},
                               {y.data(), rows, out, stride}));
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 448; j < out; ++j) {
                double expected = 0;
                for (std::int64_t k = 0; k < in; ++k)
                    expected += to_double(x[i * in + k]) * to_double(w[j * in + k]);
                REQUIRE(close(to_double(y[i * stride + j]), expected, Dtype::bf16, in, 4));
            }
            for (std::int64_t j = out; j < stride; ++j) REQUIRE(to_double(y[i * stride + j]) == 9);
        }
    }
}

// With 128 inputs a thread has one chunk of outputs, wider than a piece of a mask; with 1,024
// several.
TEST_CASE("pairs mask a layer's outputs as a kernel after it would") {
    if (without_pairs()) return;
    constexpr std::int64_t rows = 300, most_in = 1024, out = 1210, stride = out + 5;
    const auto x = random_numbers<bf16>(rows * most_in, 1),
               w = random_numbers<bf16>(out * most_in, 2);
    StepState state;
    state.seed = 3;
    const Dropout site{0.3f, 7, &state};
    const Coordinates coordinates(rows);
    for (const std::int64_t in : {std::int64_t{128}, most_in}) {
        const auto layer = [&](int threads, const AfterProduct& after) {
            CpuContext ctx(threads);
            std::vector<bf16> y(static_cast<std::size_t>(rows * stride), bf16(9.0f));
            REQUIRE(layer_of_pairs(ctx, {x.data(), rows, in}, {w.data(), out, in}, {}, after,
                                   {y.data(), rows, out, stride}));
            return y;
        };
        for (const int threads : {1, 2}) {
            CAPTURE(in);
            CAPTURE(threads);
            const auto plain = layer(threads, {Rectifier::relu});
            const auto masked =
                layer(threads, {Rectifier::relu, row_mask(site), coordinates.view()});
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t j = 0; j < stride; ++j) {
                    const auto at = static_cast<std::size_t>(i * stride + j);
                    const auto row = static_cast<std::size_t>(i);
                    const double factor = j < out ? dropout_factor(site, coordinates.rows[row],
                                                                   coordinates.positions[row], j)
                                                  : 1;
                    REQUIRE(close(to_double(masked[at]), factor * to_double(plain[at]), Dtype::bf16,
                                  1, 1));
                    if (j >= out) REQUIRE(to_double(masked[at]) == 9);
                }
        }
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
    const auto layer = [&](std::int64_t rows, std::int64_t in, std::int64_t out) {
        std::vector<bf16> y(static_cast<std::size_t>(rows * out));
        return layer_of_pairs(ctx, {zeros.data(), rows, in}, {zeros.data(), out, in}, {}, {},
                              {y.data(), rows, out});
    };
    CHECK(layer(256, 128, 256));
    CHECK_FALSE(layer(255, 128, 256));
    CHECK_FALSE(layer(256, 126, 256));
    CHECK_FALSE(layer(256, 129, 256));   // the last pair would reach beyond the row
    CHECK_FALSE(layer(256, 4098, 256));  // a panel would not fit
    CHECK_FALSE(layer(256, 128, 255));   // few panels for two threads
    CHECK_FALSE(layer(256, 128, 260));   // most of the fifth panel would be empty
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
