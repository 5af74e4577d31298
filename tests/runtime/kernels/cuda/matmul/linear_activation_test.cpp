// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/relu_mask.hpp"
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
    for (std::size_t i = 0; i < actual.size(); ++i)  // also with TF32
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
    const Coordinates coordinates(rows);
    const CoordinatesOnDevice places_there(ctx, coordinates);
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
                const kernels::ActivationSite<HostSpace> site{
                    f, {rate, 7, &state}, coordinates.view()};
                kernels::linear_activation_forward<float>(cpu,
                                                          {.x = matrix_of(x, rows, in),
                                                           .w = matrix_of(w, hidden, in),
                                                           .bias = view_of(bias),
                                                           .site = site,
                                                           .hidden = matrix_of(h, rows, hidden),
                                                           .y = matrix_of(y, rows, hidden)});
                kernels::linear_activation_backward<float>(cpu,
                                                           {.dz = matrix_of(dz, rows, out),
                                                            .w = matrix_of(down, out, hidden),
                                                            .site = site,
                                                            .hidden = matrix_of(h, rows, hidden),
                                                            .y = matrix_of(y, rows, hidden),
                                                            .d_hidden = matrix_of(dh, rows, hidden),
                                                            .db = view_of(db),
                                                            .into = kernels::Into::add});

                const OnDevice h_there(ctx, none), y_there(ctx, none), dh_there(ctx, none);
                const kernels::ActivationSite<CudaSpace> there{
                    f, {rate, 7, state_there.data()}, places_there.view()};
                const auto h_matrix = f == Activation::relu ? y_there.matrix(rows, hidden)
                                                            : h_there.matrix(rows, hidden);
                kernels::linear_activation_forward<float>(ctx, {.x = x_there.matrix(rows, in),
                                                                .w = w_there.matrix(hidden, in),
                                                                .bias = bias_there.view(),
                                                                .site = there,
                                                                .hidden = h_matrix,
                                                                .y = y_there.matrix(rows, hidden)});
                kernels::linear_activation_backward<float>(
                    ctx, {.dz = dz_there.matrix(rows, out),
                          .w = down_there.matrix(out, hidden),
                          .site = there,
                          .hidden = h_matrix,
                          .y = y_there.matrix(rows, hidden),
                          .d_hidden = dh_there.matrix(rows, hidden),
                          .db = db_there.view(),
                          .into = kernels::Into::add});
                check_close(y_there.values(), y);
                check_close(dh_there.values(), dh);
                check_close(db_there.values(), db, rows);
            }
}

TEST_CASE("gelu of a width that no epilogue takes goes by a kernel of its own") {
    CudaContext ctx(0);
    constexpr std::int64_t crooked = 42;  // what gelu is applied to has rows of whole 8 values
    const OnDevice x(ctx, random_numbers<bf16>(rows * in, 1)),
        w(ctx, random_numbers<bf16>(crooked * in, 2)), bias(ctx, random_numbers<bf16>(crooked, 3));
    const auto forward = [&](Fusion fusion) {
        ctx.cached<ProductSettings>().fusion = fusion;
        const OnDevice h(ctx, unwritten<bf16>(rows * crooked)),
            y(ctx, unwritten<bf16>(rows * crooked));
        kernels::linear_activation_forward<bf16>(ctx, {.x = x.matrix(rows, in),
                                                       .w = w.matrix(crooked, in),
                                                       .bias = bias.view(),
                                                       .site = {Activation::gelu_tanh, {}, {}},
                                                       .hidden = h.matrix(rows, crooked),
                                                       .y = y.matrix(rows, crooked)});
        return to_doubles(y.values());
    };
    CHECK(forward(Fusion::always) == forward(Fusion::never));
}

TEST_CASE("a micro-batch without tokens has no gradient before an activation") {
    CudaContext ctx(0);
    ctx.cached<ProductSettings>().fusion = Fusion::always;
    const OnDevice<float> down(ctx, random_numbers<float>(out * hidden, 1));
    for (const Activation f : {Activation::relu, Activation::gelu_tanh, Activation::gelu_erf})
        for (const auto into : {kernels::Into::overwrite, kernels::Into::add}) {
            const OnDevice db(ctx, std::vector<float>(static_cast<std::size_t>(hidden), 2.0f));
            kernels::linear_activation_backward<float>(ctx, {.dz = down.matrix(0, out),
                                                             .w = down.matrix(out, hidden),
                                                             .site = {f, {}, {}},
                                                             .hidden = down.matrix(0, hidden),
                                                             .y = down.matrix(0, hidden),
                                                             .d_hidden = down.matrix(0, hidden),
                                                             .db = db.view(),
                                                             .into = into});
            const float expected = into == kernels::Into::add ? 2.0f : 0.0f;
            CHECK(db.values() == std::vector<float>(static_cast<std::size_t>(hidden), expected));
        }
}

TEST_CASE_TEMPLATE("relu's derivative by a mask is that by its output, the bias's sums included", T,
                   bf16, fp16) {
    CudaContext ctx(0);
    ctx.cached<ProductSettings>().fusion = Fusion::always;
    const OnDevice x(ctx, random_numbers<T>(rows * in, 1)),
        w(ctx, random_numbers<T>(hidden * in, 2)), bias(ctx, random_numbers<T>(hidden, 3)),
        dz(ctx, random_numbers<T>(rows * out, 4)), down(ctx, random_numbers<T>(out * hidden, 5));
    const kernels::ActivationSite<CudaSpace> site{Activation::relu, {}, {}};
    const std::int64_t mask_cols = kernels::relu_mask_cols<T>(ctx, site, rows, hidden);
    REQUIRE(mask_cols == 16);
    const OnDevice<std::uint8_t> mask(ctx, std::vector<std::uint8_t>(rows * 16, 0xFF));
    const OnDevice y(ctx, unwritten<T>(rows * hidden)), dh(ctx, unwritten<T>(rows * hidden));
    const OnDevice dw(ctx, unwritten<float>(hidden * in)), db(ctx, unwritten<float>(hidden));
    const bool forward = kernels::linear_relu_forward<T>(
        ctx, x.matrix(rows, in), w.matrix(hidden, in), bias.const_view(), y.matrix(rows, hidden),
        mask.matrix(rows, 16));
    const bool backward = forward && kernels::linear_relu_backward<T>(
                                         ctx, dz.matrix(rows, out), down.matrix(out, hidden),
                                         mask.matrix(rows, 16), dh.matrix(rows, hidden));
    if (!backward) return;  // not every cuBLASLt can for every type
    const OnDevice plain_y(ctx, unwritten<T>(rows * hidden)),
        plain_dh(ctx, unwritten<T>(rows * hidden));
    const OnDevice plain_dw(ctx, unwritten<float>(hidden * in)),
        plain_db(ctx, unwritten<float>(hidden));
    kernels::linear_activation_forward<T>(ctx, {.x = x.matrix(rows, in),
                                                .w = w.matrix(hidden, in),
                                                .bias = bias.const_view(),
                                                .site = site,
                                                .hidden = plain_y.matrix(rows, hidden),
                                                .y = plain_y.matrix(rows, hidden)});
    kernels::linear_activation_backward<T>(ctx, {.dz = dz.matrix(rows, out),
                                                 .w = down.matrix(out, hidden),
                                                 .site = site,
                                                 .hidden = plain_y.matrix(rows, hidden),
                                                 .y = plain_y.matrix(rows, hidden),
                                                 .d_hidden = plain_dh.matrix(rows, hidden),
                                                 .db = plain_db.view(),
                                                 .into = kernels::Into::overwrite});
    kernels::linear_backward_weight<T>(ctx, x.matrix(rows, in), plain_dh.matrix(rows, hidden),
                                       plain_dw.matrix(hidden, in), kernels::Into::overwrite);
    CHECK(to_doubles(y.values()) == to_doubles(plain_y.values()));
    CHECK(to_doubles(dh.values()) == to_doubles(plain_dh.values()));
    for (const auto into : {kernels::Into::overwrite, kernels::Into::add}) {
        kernels::linear_backward_parameters<T>(ctx, x.matrix(rows, in), dh.matrix(rows, hidden),
                                               dw.matrix(hidden, in), db.view(), into);
        const float times = into == kernels::Into::add ? 2 : 1;
        for (const auto& [sums, plain] : {std::pair{&db, &plain_db}, std::pair{&dw, &plain_dw}}) {
            auto expected = plain->values();
            for (float& value : expected) value *= times;
            check_close(sums->values(), expected);
        }
    }
}

TEST_CASE("relu goes by a mask where nothing is dropped and the matrix is small") {
    CudaContext ctx(0);
    const auto cols = [&](Activation f, float rate, std::int64_t count) {
        const kernels::StepState* state = nullptr;
        return kernels::relu_mask_cols<bf16>(ctx, {f, {rate, 7, state}, {}}, count, 1024);
    };
    CHECK(cols(Activation::relu, 0, 8192) == 128);
    CHECK(cols(Activation::relu, 0, 8193) == 0);
    CHECK(cols(Activation::gelu_tanh, 0, 64) == 0);
    CHECK(cols(Activation::relu, 0.5f, 64) == 0);
}

TEST_CASE("relu's mask is not written where the epilogue is not wanted") {
    CudaContext ctx(0);
    ctx.cached<ProductSettings>().fusion = Fusion::never;
    const OnDevice x(ctx, unwritten<bf16>(16 * 16)), y(ctx, unwritten<bf16>(16 * 16));
    const OnDevice<std::uint8_t> mask(ctx, std::vector<std::uint8_t>(16 * 16, 0xFF));
    const auto forward = [&](CudaMatrix<std::uint8_t> to) {
        return kernels::linear_relu_forward<bf16>(ctx, x.matrix(16, 16), x.matrix(16, 16), {},
                                                  y.matrix(16, 16), to);
    };
    CHECK_FALSE(forward(mask.matrix(16, 16)));
    ctx.cached<ProductSettings>().fusion = Fusion::always;
    CHECK(forward(mask.matrix(16, 16)));
    CHECK_FALSE(forward({}));
}
