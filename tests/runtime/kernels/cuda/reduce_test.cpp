// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/reduce.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CudaContext;

TEST_CASE("CUDA adds a sum of squares to what is there") {
    CudaContext ctx(0);
    const OnDevice<float> x(ctx, {3, -4, 0, 12});
    kernels::ExactSum one;
    one.add(1);
    const OnDevice<kernels::ExactSum> total(ctx, std::vector{one});
    kernels::add_sum_of_squares(ctx, x.view(), total.view());
    kernels::add_sum_of_squares(ctx, CudaView<const float>{}, total.view());
    CHECK(total.values()[0].value() == 170.0);
}

TEST_CASE("CUDA's sum of squares is the CPU's, also of views that vectors cannot read") {
    CudaContext ctx(0);
    kernels::CpuContext cpu(1);
    for (const std::int64_t n : {1, 31, 32, 33, 1000, 4097, 16384, 16385, 200001}) {
        const auto x = random_numbers<float>(n, 5);
        const OnDevice on_device(ctx, x);
        const OnDevice<kernels::ExactSum> total(ctx, std::vector<kernels::ExactSum>(1));
        const auto part = static_cast<std::size_t>(n > 1 ? 1 : 0);
        const auto rest = x.size() - part;
        kernels::add_sum_of_squares(ctx, on_device.view().subview(part, rest), total.view());
        const double expected = kernels::sum_of_squares(cpu, view_of(x).subview(part, rest));
        CHECK(std::abs(total.values()[0].value() - expected) <= 1e-12 * expected);
    }
}

TEST_CASE("CUDA's sum of squares has the same bits in one part as in several") {
    CudaContext ctx(0);
    const OnDevice x(ctx, random_numbers<float>(100 * 256 + 7, 5));
    const std::size_t size = x.values().size();
    const auto words_of = [&](const std::vector<std::size_t>& borders) {
        const OnDevice<kernels::ExactSum> total(ctx, std::vector<kernels::ExactSum>(1));
        for (std::size_t i = 1; i < borders.size(); ++i)
            kernels::add_sum_of_squares(ctx,
                                        CudaView<const float>(x.view()).subview(
                                            borders[i - 1], borders[i] - borders[i - 1]),
                                        total.view());
        const kernels::ExactSum sum = total.values()[0];
        return std::vector<std::uint64_t>(sum.word, sum.word + kernels::ExactSum::words);
    };
    const auto whole = words_of({0, size});
    CHECK(words_of({0, 256, 768, 70 * 256, size}) == whole);
    CHECK(words_of({0, 99 * 256, size}) == whole);
}

TEST_CASE("CUDA's count_nonfinite finds every infinity and NaN and nothing else") {
    using Limits = std::numeric_limits<float>;
    CudaContext ctx(0);
    std::vector<float> x(100003, 1.0f);
    x[5] = Limits::max();
    x[6] = Limits::denorm_min();
    x[0] = x[16384] = Limits::quiet_NaN();
    x[100002] = -Limits::infinity();
    const OnDevice on_device(ctx, x);
    const OnDevice<std::int64_t> total(ctx, {4});
    kernels::add_count_nonfinite(ctx, on_device.view(), total.view());
    CHECK(total.values()[0] == 7);
}

TEST_CASE("CUDA's fill_zero writes every element of the view and nothing else") {
    CudaContext ctx(0);
    const OnDevice x(ctx, std::vector<float>(101, 1.0f));
    kernels::fill_zero(ctx, x.view().subview(1, 99));
    std::vector<float> expected(101, 0.0f);
    expected[0] = expected[100] = 1.0f;
    CHECK(x.values() == expected);
}

TEST_CASE_TEMPLATE("CUDA's cast rounds as the CPU does, and back", T, bf16, fp16) {
    CudaContext ctx(0);
    for (const std::int64_t n : {1, 7, 8, 4096, 70001}) {
        auto x = random_numbers<float>(n, 6, 1e3);
        x.front() = 1e-7f;  // subnormal in fp16
        x.back() = std::numeric_limits<float>::infinity();
        const OnDevice from(ctx, x), wide(ctx, unwritten<float>(n));
        const OnDevice narrow(ctx, unwritten<T>(n));
        kernels::cast<float, T>(ctx, from.view(), narrow.view());
        kernels::cast<T, float>(ctx, narrow.view(), wide.view());
        const auto narrowed = narrow.values();
        const auto widened = wide.values();
        for (std::size_t i = 0; i < x.size(); ++i) {
            REQUIRE(narrowed[i].bits == T(x[i]).bits);
            REQUIRE(widened[i] == static_cast<float>(narrowed[i]));
        }
    }
}
