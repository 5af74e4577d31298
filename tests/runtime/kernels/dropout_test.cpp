// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/dropout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/dropout_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
namespace cpu = kernels::cpu;
using kernels::CpuContext;
using kernels::Dropout;
using kernels::StepState;

namespace {

const StepState dropout_step{.seed = 11, .step = 5};

template <class T>
std::vector<T> dropped_ones(CpuContext& ctx, const Dropout& site, const Coordinates& coordinates,
                            std::int64_t cols) {
    const auto rows = static_cast<std::int64_t>(coordinates.rows.size());
    std::vector<T> x(static_cast<std::size_t>(rows * cols), static_cast<T>(1.0f));
    kernels::dropout<T>(ctx, site, coordinates.view(), matrix_of(x, rows, cols),
                        matrix_of(x, rows, cols));
    return x;
}

}  // namespace

TEST_CASE_TEMPLATE("dropout's mask is Philox's, for every width and number of threads", T, float,
                   bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t cols : {1, 31, 32, 33, 64, 65, 1000, 4097}) {
            const Dropout site{0.3f, 9, &dropout_step};
            const Coordinates coordinates(7);
            const auto y = dropped_ones<T>(ctx, site, coordinates, cols);
            for (std::int64_t i = 0; i < 7; ++i) {
                const auto at = static_cast<std::size_t>(i);
                for (std::int64_t j = 0; j < cols; ++j)
                    REQUIRE(close(
                        to_double(y[static_cast<std::size_t>(i * cols + j)]),
                        dropout_factor(site, coordinates.rows[at], coordinates.positions[at], j),
                        dtype_of<T>));
            }
        }
    }
}

TEST_CASE("dropout does not depend on where in the batch a token stands") {
    CpuContext ctx(1);
    const Dropout site{0.5f, 2, &dropout_step};
    const Coordinates forward(6);
    Coordinates backward = forward;
    std::reverse(backward.rows.begin(), backward.rows.end());
    std::reverse(backward.positions.begin(), backward.positions.end());
    const auto a = dropped_ones<float>(ctx, site, forward, 100);
    const auto b = dropped_ones<float>(ctx, site, backward, 100);
    CHECK(a != b);
    for (std::size_t i = 0; i < 6; ++i)
        CHECK(std::equal(a.begin() + static_cast<std::ptrdiff_t>(i * 100),
                         a.begin() + static_cast<std::ptrdiff_t>((i + 1) * 100),
                         b.begin() + static_cast<std::ptrdiff_t>((5 - i) * 100)));
}

TEST_CASE("dropout differs by step, seed and site and keeps its rate") {
    CpuContext ctx(2);
    const Coordinates coordinates(300);
    const auto mask = [&](const StepState& at, std::uint32_t site) {
        return dropped_ones<float>(ctx, Dropout{0.1f, site, &at}, coordinates, 1000);
    };
    const auto base = mask({.seed = 1, .step = 1}, 1);
    CHECK(base != mask({.seed = 2, .step = 1}, 1));
    CHECK(base != mask({.seed = 1, .step = 2}, 1));
    CHECK(base != mask({.seed = 1, .step = 1}, 2));
    const auto zeros = static_cast<double>(std::count(base.begin(), base.end(), 0.0f));
    // The bound is five standard deviations of a binomial of 300,000 at 0.1.
    CHECK(std::abs(zeros / 300000 - 0.1) < 5 * std::sqrt(0.1 * 0.9 / 300000));
}

TEST_CASE_TEMPLATE("dropout at rate 0 copies, also between strided matrices", T, float, bf16) {
    CpuContext ctx(1);
    auto x = random_numbers<T>(6 * 10, 1), y = random_numbers<T>(6 * 12, 2);
    const auto before = y;
    kernels::dropout<T>(ctx, Dropout{}, {}, HostMatrix<const T>(x.data(), 6, 5, 10),
                        HostMatrix<T>(y.data(), 6, 5, 12));
    for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t j = 0; j < 12; ++j)
            CHECK(to_double(y[i * 12 + j]) ==
                  to_double(j < 5 ? x[i * 10 + j] : before[i * 12 + j]));
}

TEST_CASE("dropout refuses a rate of one and a missing state") {
    CpuContext ctx(1);
    const Coordinates coordinates(1);
    CHECK_THROWS_AS(dropped_ones<float>(ctx, Dropout{1.0f, 0, &dropout_step}, coordinates, 4),
                    Error);
    CHECK_THROWS_AS(dropped_ones<float>(ctx, Dropout{0.5f, 0, nullptr}, coordinates, 4), Error);
}

TEST_CASE("every variant that this processor can run draws Philox's mask") {
    PhiloxStream random(5);
    const auto variants = cpu::mask_variants();
    REQUIRE(std::string(variants.back().name) == "default");
    for (const cpu::MaskVariant& variant : variants) {
        CAPTURE(variant.name);
        for (int round = 0; round < 200; ++round) {
            cpu::RowMask mask;
            mask.key = std::uint64_t{random()} << 32 | random();
            mask.site = random(), mask.row = random(), mask.position = random();
            mask.threshold = round % 2 == 0 ? random() : 0xFFFFFFFFu;
            mask.scale = 1.5F;
            const std::int64_t first = random.below(1600) * 4;
            const std::int64_t columns = 1 + random.below(300);
            if (round % 5 == 0)  // a word that is the threshold is kept
                mask.threshold = philox<7>(
                    {mask.site, mask.row, mask.position, static_cast<std::uint32_t>(first / 4)},
                    mask.key)[0];
            const std::int64_t written =
                (columns + cpu::mask_columns - 1) / cpu::mask_columns * cpu::mask_columns;
            std::vector<float> factors(static_cast<std::size_t>(written + 1), -1.0F);
            variant.write(mask, first, columns, factors.data());
            for (std::int64_t j = 0; j < columns; ++j) {
                const auto counter = static_cast<std::uint32_t>((first + j) / 4);
                const PhiloxBlock words =
                    philox<7>({mask.site, mask.row, mask.position, counter}, mask.key);
                const bool dropped = words[static_cast<std::size_t>(j % 4)] < mask.threshold;
                REQUIRE(factors[static_cast<std::size_t>(j)] == (dropped ? 0 : mask.scale));
            }
            REQUIRE(factors.back() == -1.0F);
        }
    }
}
