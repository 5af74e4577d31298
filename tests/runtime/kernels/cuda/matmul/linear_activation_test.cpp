// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/kernels/cuda/matmul/product.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::Activation;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::cuda::Fusion;
using kernels::cuda::ProductSettings;

namespace {

constexpr std::int64_t rows = 12, in = 16, hidden = 40, out = 24;

void check_close(const std::vector<float>& actual, const std::vector<float>& expected,
                 std::int64_t terms = 1) {
    for (std::size_t i = 0; i < actual.size(); ++i)  // enough for TF32 too
        REQUIRE(std::abs(actual[i] - expected[i]) <= 0.012f * static_cast<float>(terms));
}

}  // namespace

TEST_CASE(
    "a linear layer and its activation are the CPU's, fused or not, with dropout or without") {
    CpuContext cpu(1);
    CudaContext ctx(0);
    auto x = random_numbers<float>(rows * in, 1), w = random_numbers<float>(hidden * in, 2),
         bias = random_numbers<float>(hidden, 3), dz = random_numbers<float>(rows * out, 4),
         down = random_numbers<float>(out * hidden, 5);
    const OnDevice x_there(ctx, x), w_there(ctx, w), bias_there(ctx, bias), dz_there(ctx, dz),
        down_there(ctx, down);
    const Places places(rows);
    const PlacesOnDevice places_there(ctx, places);
    kernels::StepState state{};
    state.seed = 3;
    state.step = 4;
    const OnDevice state_there(ctx, std::vector<kernels::StepState>{state});

    for (const Fusion fusion : {Fusion::never, Fusion::always, Fusion::expected})
        for (const Activation f : {Activation::relu, Activation::gelu_tanh, Activation::gelu_erf})
            for (const float rate : {0.0f, 0.25f}) {
                ctx.cached<ProductSettings>().fusion = fusion;
                const std::vector<float> none(static_cast<std::size_t>(rows * hidden), NAN);
                auto h = none, y = none, dh = none;
                std::vector<float> db(static_cast<std::size_t>(hidden), 1.0f);
                const OnDevice db_there(ctx, db);
                const kernels::ActivationSite<HostSpace> site{f, {rate, 7, &state}, places.view()};
                kernels::linear_activation_forward<float>(
                    cpu, matrix_of(x, rows, in), matrix_of(w, hidden, in), view_of(bias), site,
                    matrix_of(h, rows, hidden), matrix_of(y, rows, hidden));
                kernels::linear_activation_backward<float>(
                    cpu, matrix_of(dz, rows, out), matrix_of(down, out, hidden), site,
                    matrix_of(h, rows, hidden), matrix_of(y, rows, hidden),
                    matrix_of(dh, rows, hidden), view_of(db), kernels::Into::add);

                const OnDevice h_there(ctx, none), y_there(ctx, none), dh_there(ctx, none);
                const kernels::ActivationSite<CudaSpace> there{
                    f, {rate, 7, state_there.data()}, places_there.view()};
                const auto h_matrix = f == Activation::relu ? y_there.matrix(rows, hidden)
                                                            : h_there.matrix(rows, hidden);
                kernels::linear_activation_forward<float>(
                    ctx, x_there.matrix(rows, in), w_there.matrix(hidden, in), bias_there.view(),
                    there, h_matrix, y_there.matrix(rows, hidden));
                kernels::linear_activation_backward<float>(
                    ctx, dz_there.matrix(rows, out), down_there.matrix(out, hidden), there,
                    h_matrix, y_there.matrix(rows, hidden), dh_there.matrix(rows, hidden),
                    db_there.view(), kernels::Into::add);
                check_close(y_there.values(), y);
                check_close(dh_there.values(), dh);
                check_close(db_there.values(), db, rows);
            }
}
