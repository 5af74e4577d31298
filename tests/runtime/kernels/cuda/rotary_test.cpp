// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/rotary.hpp"

#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::Turn;

TEST_CASE_TEMPLATE("CUDA's rotations are the CPU's", T, float, bf16, fp16) {
    struct Shape {
        int heads, head_dim, pairs;
    };
    CudaContext ctx(0);
    CpuContext cpu(1);
    const std::vector<std::int32_t> positions{0, 1, 2, 3, 0, 7, 500, 131071, 4, 5, 6};
    const OnDevice on_positions(ctx, positions);
    const std::int64_t rows = std::ssize(positions);
    for (const Shape& shape : {Shape{1, 2, 1},
                               {3, 64, 32},
                               {9, 128, 64},
                               {2, 256, 128},
                               {5, 21, 10},
                               {2, 80, 20},
                               {2, 6, 0}})
        for (const Turn turn : {Turn::forward, Turn::backward}) {
            CAPTURE(shape.head_dim);
            std::vector<float> frequencies;
            for (int j = 0; j < shape.pairs; ++j)
                frequencies.push_back(1 / std::pow(10000.0f, static_cast<float>(j) /
                                                                 static_cast<float>(shape.pairs)));
            const std::int64_t width = shape.heads * shape.head_dim, stride = width + 5;
            const auto x = random_numbers<T>(rows * stride, 1);
            const OnDevice on_x(ctx, x), on_frequencies(ctx, frequencies);
            kernels::rotate<T>(ctx, {.positions = on_positions.const_view(),
                                     .frequencies = on_frequencies.const_view(),
                                     .scale = 1.25f,
                                     .turn = turn,
                                     .head_dim = shape.head_dim,
                                     .x = on_x.matrix(rows, width, stride)});
            auto expected = widened(x);
            kernels::rotate<float>(cpu,
                                   {.positions = const_view_of(positions),
                                    .frequencies = const_view_of(frequencies),
                                    .scale = 1.25f,
                                    .turn = turn,
                                    .head_dim = shape.head_dim,
                                    .x = HostMatrix<float>(expected.data(), rows, width, stride)});
            require_close(on_x.values(), expected, 4, 2);
        }
}
