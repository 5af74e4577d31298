// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/head_norm.hpp"

#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::CudaContext;

TEST_CASE_TEMPLATE("CUDA's norm of heads and its gradients are the CPU's, in place too", T, float,
                   bf16, fp16) {
    // There are more heads than all blocks of the emulated device take at once.
    constexpr std::int64_t rows = 83;
    constexpr float epsilon = 1e-6f;
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const int d : {1, 8, 21, 64, 128, 200, 256})
        for (const int heads : {1, 3}) {
            CAPTURE(d);
            const std::int64_t width = std::int64_t{heads} * d;
            const auto x = random_numbers<T>(rows * width, 1, 2),
                       dy = random_numbers<T>(rows * width, 2), gamma = random_numbers<T>(d, 3);
            const OnDevice on_x(ctx, x), on_dy(ctx, dy), on_gamma(ctx, gamma);
            const OnDevice y(ctx, unwritten<T>(rows * width)), dx(ctx, unwritten<T>(rows * width));
            const OnDevice rstd(ctx, unwritten<float>(rows * heads));
            const OnDevice dgamma(ctx, std::vector<float>(gamma.size(), 1.0f));
            const OnDevice again(ctx, unwritten<float>(d));
            const auto backward = [&](CudaMatrix<T> to, CudaView<float> sums, kernels::Into into) {
                kernels::head_norm_backward<T>(ctx, {.head_dim = d,
                                                     .dy = on_dy.matrix(rows, width),
                                                     .x = on_x.matrix(rows, width),
                                                     .rstd = rstd.const_view(),
                                                     .gamma = on_gamma.const_view(),
                                                     .dx = to,
                                                     .dgamma = sums,
                                                     .into = into});
            };
            const auto forward = [&](CudaMatrix<T> to) {
                kernels::head_norm_forward<T>(ctx, {.epsilon = epsilon,
                                                    .head_dim = d,
                                                    .x = on_x.matrix(rows, width),
                                                    .gamma = on_gamma.const_view(),
                                                    .y = to,
                                                    .rstd = rstd.view()});
            };
            forward(y.matrix(rows, width));
            backward(dx.matrix(rows, width), dgamma.view(), kernels::Into::add);
            backward(on_dy.matrix(rows, width), again.view(), kernels::Into::overwrite);
            forward(on_x.matrix(rows, width));
            CHECK(same_bits(on_dy.values(), dx.values()));
            CHECK(same_bits(on_x.values(), y.values()));

            auto wide_x = widened(x), wide_dy = widened(dy);
            const auto wide_gamma = widened(gamma);
            std::vector<float> expected(wide_x.size()), gradient(wide_x.size());
            std::vector<float> rstds(static_cast<std::size_t>(rows * heads)),
                sums(gamma.size(), 1.0f);
            kernels::head_norm_forward<float>(cpu, {.epsilon = epsilon,
                                                    .head_dim = d,
                                                    .x = matrix_of(wide_x, rows, width),
                                                    .gamma = const_view_of(wide_gamma),
                                                    .y = matrix_of(expected, rows, width),
                                                    .rstd = view_of(rstds)});
            kernels::head_norm_backward<float>(cpu, {.head_dim = d,
                                                     .dy = matrix_of(wide_dy, rows, width),
                                                     .x = matrix_of(wide_x, rows, width),
                                                     .rstd = const_view_of(rstds),
                                                     .gamma = const_view_of(wide_gamma),
                                                     .dx = matrix_of(gradient, rows, width),
                                                     .dgamma = view_of(sums),
                                                     .into = kernels::Into::add});
            // The normed value is rounded too, so an error may be twice as large.
            std::vector<float> halved = widened(y.values());
            for (std::size_t i = 0; i < halved.size(); ++i)
                REQUIRE(close(0.5 * (double{halved[i]} + double{expected[i]}), double{expected[i]},
                              dtype_of<T>, 16));
            require_close(rstd.values(), rstds, d, 8);
            // The gradient of a single column is only a rounding error.
            if (d > 1) require_close(dx.values(), gradient, 64, 8);
            require_close(dgamma.values(), sums, rows * heads, 8);
            for (float& sum : sums) sum -= 1;
            require_close(again.values(), sums, rows * heads, 8);
        }
}

TEST_CASE("CUDA's norm of no heads sums nothing") {
    CudaContext ctx(0);
    const OnDevice gamma(ctx, numbers<float>({1, 2})), dgamma(ctx, unwritten<float>(2));
    const CudaMatrix<float> none(nullptr, 0, 4);
    kernels::head_norm_forward<float>(ctx, {.epsilon = 1,
                                            .head_dim = 2,
                                            .x = none,
                                            .gamma = gamma.const_view(),
                                            .y = none,
                                            .rstd = {}});
    kernels::head_norm_backward<float>(ctx, {.head_dim = 2,
                                             .dy = none,
                                             .x = none,
                                             .rstd = {},
                                             .gamma = gamma.const_view(),
                                             .dx = none,
                                             .dgamma = dgamma.view(),
                                             .into = kernels::Into::overwrite});
    CHECK(dgamma.values() == std::vector<float>(2));
}
