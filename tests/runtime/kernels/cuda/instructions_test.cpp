// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/cuda/instructions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/close.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;

TEST_CASE_TEMPLATE("a warp's matrix product", T, bf16, fp16) {
    device::CudaContext ctx(0);
    std::vector<T> a, b(128), transposed(128);
    for (int i = 0; i < 256; ++i) a.push_back(static_cast<T>(static_cast<float>(i * 7 % 11 - 5)));
    for (std::size_t i = 0; i < 128; ++i) {
        b[i] = static_cast<T>(static_cast<float>(static_cast<int>(i * 5 % 13) - 6));
        transposed[i % 8 * 16 + i / 8] = b[i];
    }
    std::vector<float> expected(128);  // small integers are exact
    for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t j = 0; j < 8; ++j)
            for (std::size_t k = 0; k < 16; ++k)
                expected[i * 8 + j] +=
                    static_cast<float>(a[i * 16 + k]) * static_cast<float>(b[k * 8 + j]);
    const OnDevice on_a(ctx, a), on_b(ctx, b), on_transposed(ctx, transposed);
    const OnDevice c(ctx, unwritten<float>(128)), d(ctx, unwritten<float>(128));
    multiply_by_warp<T>(ctx, on_a.view(), on_b.view(), Stored::as_is, c.view());
    multiply_by_warp<T>(ctx, on_a.view(), on_transposed.view(), Stored::transposed, d.view());
    CHECK(c.values() == expected);
    CHECK(d.values() == expected);
}

TEST_CASE("power_of_2 is 2^x, and zero where that is subnormal") {
    device::CudaContext ctx(0);
    const float infinity = std::numeric_limits<float>::infinity();
    const OnDevice<float> x(ctx, {0, 1, -1, 10, 0.5f, -0.25f, -126, -130, -infinity, infinity});
    const OnDevice y(ctx, unwritten<float>(10));
    powers_of_2(ctx, x.const_view(), y.view());
    const std::vector<double> expected{
        1, 2, 0.5, 1024, std::sqrt(2.0), std::pow(2.0, -0.25), 0x1p-126, 0, 0, infinity};
    const auto values = y.values();
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK((values[i] == expected[i] || close(values[i], expected[i], Dtype::fp32)));
}

TEST_CASE("fast_inverse is 1 / x, and zero where that is subnormal") {
    device::CudaContext ctx(0);
    const float infinity = std::numeric_limits<float>::infinity();
    const OnDevice<float> x(ctx, {1, -4, 3, 1e30f, 0x1p127f, 0, infinity, -infinity});
    const OnDevice y(ctx, unwritten<float>(8));
    inverses(ctx, x.const_view(), y.view());
    const std::vector<double> expected{1, -0.25, 1.0 / 3, 1e-30, 0, infinity, 0, 0};
    const auto values = y.values();
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK((values[i] == expected[i] || close(values[i], expected[i], Dtype::fp32)));
}
