// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/gated_activation.hpp"

#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::Activation;
using kernels::CpuContext;
using kernels::CudaContext;

TEST_CASE_TEMPLATE("CUDA's gated activations and their gradients are the CPU's, in place too", T,
                   float, bf16, fp16) {
    constexpr std::int64_t rows = 5;
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const std::int64_t n : awkward_columns)
        for (const Activation f :
             {Activation::silu, Activation::gelu_tanh, Activation::gelu_erf, Activation::relu}) {
            const auto x = random_numbers<T>(rows * 2 * n, 1, 4),
                       dy = random_numbers<T>(rows * n, 2);
            const OnDevice on_x(ctx, x), on_dy(ctx, dy), y(ctx, unwritten<T>(rows * n));
            const OnDevice dx(ctx, unwritten<T>(rows * 2 * n));
            kernels::gated_activation_forward<T>(ctx, f, on_x.matrix(rows, 2 * n),
                                                 y.matrix(rows, n));
            for (const auto& to : {dx.matrix(rows, 2 * n), on_x.matrix(rows, 2 * n)})
                kernels::gated_activation_backward<T>(
                    ctx,
                    {.f = f, .x = on_x.matrix(rows, 2 * n), .dy = on_dy.matrix(rows, n), .dx = to});
            auto wide_x = widened(x), wide_dy = widened(dy);
            std::vector<float> expected(wide_dy.size()), gradient(wide_x.size());
            kernels::gated_activation_forward<float>(cpu, f, matrix_of(wide_x, rows, 2 * n),
                                                     matrix_of(expected, rows, n));
            kernels::gated_activation_backward<float>(cpu,
                                                      {.f = f,
                                                       .x = matrix_of(wide_x, rows, 2 * n),
                                                       .dy = matrix_of(wide_dy, rows, n),
                                                       .dx = matrix_of(gradient, rows, 2 * n)});
            require_close(y.values(), expected, 4, 16);
            require_close(dx.values(), gradient, 4, 16);
            CHECK(same_bits(on_x.values(), dx.values()));
        }
}
