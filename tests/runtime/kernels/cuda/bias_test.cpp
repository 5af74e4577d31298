// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear.hpp"
#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::CudaContext;

TEST_CASE_TEMPLATE("CUDA's bias gradient is the CPU's, and the same at each call", T, float, bf16,
                   fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const std::int64_t rows : {1, 31, 700})
        for (const std::int64_t cols : awkward_columns) {
            const auto dy = random_numbers<T>(rows * cols, 1);
            auto wide = widened(dy);
            std::vector<float> expected(static_cast<std::size_t>(cols), 2.0f);
            const OnDevice on_dy(ctx, dy), db(ctx, expected), again(ctx, expected);
            kernels::bias_backward<float>(cpu, matrix_of(wide, rows, cols), view_of(expected),
                                          kernels::Into::add);
            kernels::bias_backward<T>(ctx, on_dy.matrix(rows, cols), db.view(), kernels::Into::add);
            kernels::bias_backward<T>(ctx, on_dy.matrix(rows, cols), again.view(),
                                      kernels::Into::add);
            require_close(db.values(), expected, rows, 2);
            CHECK(same_bits(db.values(), again.values()));
            const OnDevice zeros(ctx, std::vector<float>(expected.size()));
            const OnDevice unknown(ctx, unwritten<float>(cols));
            kernels::bias_backward<T>(ctx, on_dy.matrix(rows, cols), zeros.view(),
                                      kernels::Into::add);
            kernels::bias_backward<T>(ctx, on_dy.matrix(rows, cols), unknown.view(),
                                      kernels::Into::overwrite);
            CHECK(unknown.values() == zeros.values());
        }
}

TEST_CASE("CUDA's bias gradient of no rows is zero, and of a slice the sum of its columns") {
    CudaContext ctx(0);
    const OnDevice<float> dy(ctx, {1, 2, 3, 4, 5, 6}), db(ctx, {1, 1});
    kernels::bias_backward<float>(ctx, dy.matrix(0, 2), db.view(), kernels::Into::add);
    CHECK(db.values() == std::vector<float>{1, 1});
    kernels::bias_backward<float>(ctx, dy.matrix(2, 2, 3), db.view(), kernels::Into::add);
    CHECK(db.values() == std::vector<float>{6, 8});
    kernels::bias_backward<float>(ctx, dy.matrix(0, 2), db.view(), kernels::Into::overwrite);
    CHECK(db.values() == std::vector<float>{0, 0});
}
