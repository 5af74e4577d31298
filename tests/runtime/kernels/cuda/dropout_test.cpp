// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/dropout.hpp"

#include <doctest/doctest.h>

#include "tests/support/close.hpp"
#include "tests/support/on_device.hpp"
#include "tests/support/reference/dropout_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CudaContext;
using kernels::Dropout;
using kernels::StepState;

TEST_CASE_TEMPLATE("CUDA's dropout has the CPU's mask, for every width", T, float, bf16, fp16) {
    CudaContext ctx(0);
    const StepState state{.seed = 11, .step = 5};
    const OnDevice<StepState> device_state(ctx, {state});
    for (const std::int64_t cols : {1, 4, 31, 32, 33, 64, 65, 1000, 4097}) {
        const Coordinates coordinates(7);
        const CoordinatesOnDevice device_places(ctx, coordinates);
        const auto x = random_numbers<T>(7 * cols, 3);
        const OnDevice from(ctx, x), to(ctx, unwritten<T>(7 * cols));
        kernels::dropout<T>(ctx, Dropout{0.3f, 9, device_state.data()}, device_places.view(),
                            from.matrix(7, cols), to.matrix(7, cols));
        const auto y = to.values();
        for (std::size_t i = 0; i < y.size(); ++i) {
            const auto token = i / static_cast<std::size_t>(cols);
            const double factor =
                dropout_factor(Dropout{0.3f, 9, &state}, coordinates.rows[token],
                               coordinates.positions[token], static_cast<std::int64_t>(i) % cols);
            REQUIRE(close(to_double(y[i]), to_double(x[i]) * factor, dtype_of<T>));
        }
    }
}

TEST_CASE_TEMPLATE("CUDA's dropout at rate 0 copies, also between strided matrices", T, float, bf16,
                   fp16) {
    CudaContext ctx(0);
    const auto x = random_numbers<T>(6 * 16, 1), before = random_numbers<T>(6 * 24, 2);
    for (const std::int64_t cols : {5, 8, 16}) {
        const OnDevice from(ctx, x), to(ctx, before);
        kernels::dropout<T>(ctx, Dropout{}, {}, from.matrix(6, cols, 16), to.matrix(6, cols, 24));
        const auto y = to.values();
        for (std::size_t i = 0; i < 6; ++i)
            for (std::size_t j = 0; j < 24; ++j)
                CHECK(to_double(y[i * 24 + j]) == to_double(j < static_cast<std::size_t>(cols)
                                                                ? x[i * 16 + j]
                                                                : before[i * 24 + j]));
    }
}

TEST_CASE("CUDA's dropout refuses a rate of one, a missing state and missing coordinates") {
    CudaContext ctx(0);
    const OnDevice<StepState> state(ctx, {StepState{}});
    const CoordinatesOnDevice coordinates(ctx, Coordinates(2));
    const OnDevice x(ctx, unwritten<float>(8));
    const auto drop = [&](const Dropout& site, std::int64_t rows) {
        kernels::dropout<float>(ctx, site, coordinates.view(), x.matrix(rows, 2),
                                x.matrix(rows, 2));
    };
    CHECK_THROWS_AS(drop({1.0f, 0, state.data()}, 2), Error);
    CHECK_THROWS_AS(drop({0.5f, 0, nullptr}, 2), Error);
    CHECK_THROWS_AS(drop({0.5f, 0, state.data()}, 4), Error);
}
