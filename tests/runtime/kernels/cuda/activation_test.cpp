// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/activation.hpp"

#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::Activation;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::Dropout;
using kernels::StepState;

namespace {

constexpr std::int64_t rows = 5;
constexpr Activation all[] = {Activation::relu, Activation::gelu_tanh, Activation::gelu_erf,
                              Activation::silu};

template <class T>
struct Case {
    explicit Case(std::int64_t columns)
        : cols(columns),
          x(random_numbers<T>(rows * columns, 1, 4)),
          dy(random_numbers<T>(rows * columns, 2)) {}

    std::int64_t cols;
    std::vector<T> x, dy;
    Coordinates coordinates{rows};
    StepState state{.seed = 3, .step = 4};
};

}  // namespace

TEST_CASE_TEMPLATE("CUDA's activations and their gradients are the CPU's, with and without dropout",
                   T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const std::int64_t cols : awkward_columns) {
        const Case<T> c(cols);
        const OnDevice x(ctx, c.x), dy(ctx, c.dy);
        const OnDevice<StepState> state(ctx, {c.state});
        const CoordinatesOnDevice coordinates(ctx, c.coordinates);
        auto wide_x = widened(c.x), wide_dy = widened(c.dy);
        for (const Activation f : all)
            for (const float rate : {0.0f, 0.25f}) {
                const OnDevice y(ctx, unwritten<T>(rows * cols)),
                    dx(ctx, unwritten<T>(rows * cols));
                const Dropout on_gpu{rate, 7, state.data()}, on_cpu{rate, 7, &c.state};
                kernels::activation_forward<T>(ctx, f, on_gpu, coordinates.view(),
                                               x.matrix(rows, cols), y.matrix(rows, cols));
                std::vector<float> expected(wide_x.size()),
                    sums(static_cast<std::size_t>(cols), 1.0f);
                const OnDevice db(ctx, sums);
                kernels::activation_backward<T>(ctx, {.f = f,
                                                      .dropout = on_gpu,
                                                      .coordinates = coordinates.view(),
                                                      .x = x.matrix(rows, cols),
                                                      .dy = dy.matrix(rows, cols),
                                                      .dx = dx.matrix(rows, cols),
                                                      .db = db.view(),
                                                      .into = kernels::Into::add});
                kernels::activation_forward<float>(cpu, f, on_cpu, c.coordinates.view(),
                                                   matrix_of(wide_x, rows, cols),
                                                   matrix_of(expected, rows, cols));
                require_close(y.values(), expected, 4, 4);
                kernels::activation_backward<float>(cpu, {.f = f,
                                                          .dropout = on_cpu,
                                                          .coordinates = c.coordinates.view(),
                                                          .x = matrix_of(wide_x, rows, cols),
                                                          .dy = matrix_of(wide_dy, rows, cols),
                                                          .dx = matrix_of(expected, rows, cols),
                                                          .db = view_of(sums),
                                                          .into = kernels::Into::add});
                require_close(dx.values(), expected, 4, 4);
                require_close(db.values(), sums, 4 * rows, 4);
            }
    }
}

TEST_CASE_TEMPLATE("CUDA's relu backward needs no more than the output, in place", T, float, bf16,
                   fp16) {
    CudaContext ctx(0);
    const Dropout site{0.5f, 0, nullptr};
    const OnDevice y(ctx, numbers<T>({1, 0, 2, -0.0, 3, 0})),
        dy(ctx, numbers<T>({1, 2, 3, 4, 5, 6}));
    const OnDevice<float> db(ctx, {1, 1, 1});
    kernels::relu_backward<T>(ctx, {.dropout = site,
                                    .y = y.matrix(2, 3),
                                    .dy = dy.matrix(2, 3),
                                    .dx = dy.matrix(2, 3),
                                    .db = db.view(),
                                    .into = kernels::Into::add});
    CHECK(to_doubles(dy.values()) == std::vector<double>{2, 0, 6, 0, 10, 0});
    CHECK(db.values() == std::vector<float>{3, 11, 7});
}

TEST_CASE_TEMPLATE(
    "CUDA's bias gradients over many rows of an activation are the CPU's, and the same at each "
    "call",
    T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    for (const std::int64_t many : {1, 31, 700})
        for (const std::int64_t cols : {8, 31, 300}) {
            const auto x = random_numbers<T>(many * cols, 1, 4),
                       dy = random_numbers<T>(many * cols, 2);
            auto wide_x = widened(x), wide_dy = widened(dy), wide_dx = wide_x;
            const OnDevice on_x(ctx, x), on_dy(ctx, dy), dx(ctx, unwritten<T>(many * cols));
            std::vector<float> expected(static_cast<std::size_t>(cols), 2.0f);
            const OnDevice db(ctx, expected), again(ctx, expected);
            for (const auto& sums : {db.view(), again.view()})
                kernels::activation_backward<T>(ctx, {.f = Activation::gelu_tanh,
                                                      .x = on_x.matrix(many, cols),
                                                      .dy = on_dy.matrix(many, cols),
                                                      .dx = dx.matrix(many, cols),
                                                      .db = sums,
                                                      .into = kernels::Into::add});
            kernels::activation_backward<float>(cpu, {.f = Activation::gelu_tanh,
                                                      .x = matrix_of(wide_x, many, cols),
                                                      .dy = matrix_of(wide_dy, many, cols),
                                                      .dx = matrix_of(wide_dx, many, cols),
                                                      .db = view_of(expected),
                                                      .into = kernels::Into::add});
            require_close(db.values(), expected, 4 * many, 4);
            CHECK(same_bits(db.values(), again.values()));
        }
}

TEST_CASE("CUDA's relu keeps NaN") {
    CudaContext ctx(0);
    const OnDevice x(ctx, unwritten<float>(4));
    kernels::activation_forward<float>(ctx, Activation::relu, {}, {}, x.matrix(1, 4),
                                       x.matrix(1, 4));
    CHECK(std::isnan(x.values()[0]));
}
