// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/norm.hpp"

#include <tuple>

#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/linear.hpp"
#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::Dropout;
using kernels::StepState;

namespace {

// There are more rows than all blocks of the emulated device take at once.
constexpr std::int64_t rows = 83;
const StepState host_state{.seed = 3, .step = 4};

template <class T>
std::vector<T> about(std::int64_t count, std::uint64_t key, float middle) {
    auto values = random_numbers<T>(count, key);
    for (T& value : values) value = static_cast<T>(static_cast<float>(value) + middle);
    return values;
}

// Computes sum = x + dropout(branch) on the CPU.
template <class T>
std::vector<float> residual(const Dropout& site, const Coordinates& coordinates,
                            const std::vector<T>& x, const std::vector<T>& branch,
                            std::int64_t cols) {
    CpuContext cpu(1);
    auto wide_x = widened(x), wide_branch = widened(branch);
    std::vector<float> sum(x.size());
    kernels::residual_forward<float>(cpu, site, coordinates.view(), matrix_of(wide_x, rows, cols),
                                     matrix_of(wide_branch, rows, cols),
                                     matrix_of(sum, rows, cols));
    return sum;
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's layer norm of a residual is the CPU's", T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    const OnDevice<StepState> state(ctx, {host_state});
    const Coordinates coordinates(rows);
    const CoordinatesOnDevice device_places(ctx, coordinates);
    for (const std::int64_t cols : awkward_columns)
        for (const float rate : {0.0f, 0.25f}) {
            const Dropout on_cpu{rate, 7, &host_state}, on_gpu{rate, 7, state.data()};
            const auto x = about<T>(rows * cols, 1, 1.0f),
                       branch = random_numbers<T>(rows * cols, 2);
            const auto gamma = about<T>(cols, 3, 1.0f), beta = random_numbers<T>(cols, 4);
            const OnDevice on_x(ctx, x), on_branch(ctx, branch), on_gamma(ctx, gamma);
            const OnDevice on_beta(ctx, beta), y(ctx, unwritten<T>(rows * cols));
            const OnDevice sum(ctx, unwritten<T>(rows * cols)), mean(ctx, unwritten<float>(rows));
            const OnDevice rstd(ctx, unwritten<float>(rows));
            kernels::norm_forward<T>(ctx, {.dropout = on_gpu,
                                           .coordinates = device_places.view(),
                                           .x = on_x.matrix(rows, cols),
                                           .branch = on_branch.matrix(rows, cols),
                                           .gamma = on_gamma.view(),
                                           .beta = on_beta.view(),
                                           .sum = sum.matrix(rows, cols),
                                           .y = y.matrix(rows, cols),
                                           .mean = mean.view(),
                                           .rstd = rstd.view()});
            require_close(sum.values(), residual(on_cpu, coordinates, x, branch, cols));

            auto wide_sum = widened(sum.values());
            const auto wide_gamma = widened(gamma), wide_beta = widened(beta);
            std::vector<float> expected(wide_sum.size()), means(rows), rstds(rows);
            kernels::norm_forward<float>(cpu, {.x = matrix_of(wide_sum, rows, cols),
                                               .gamma = const_view_of(wide_gamma),
                                               .beta = const_view_of(wide_beta),
                                               .y = matrix_of(expected, rows, cols),
                                               .mean = view_of(means),
                                               .rstd = view_of(rstds)});
            require_close(mean.values(), means, 16);
            // The variance of a single column is only a rounding error.
            if (cols > 1) require_close(rstd.values(), rstds, cols, 8);
            require_close(y.values(), expected, 64, 4);
        }
}

TEST_CASE_TEMPLATE("CUDA's layer norm without a residual reads x, and copies it where asked", T,
                   float, bf16, fp16) {
    CudaContext ctx(0);
    const auto x = numbers<T>({-1, 0, 1, 2, 2, 5});
    const OnDevice on_x(ctx, x), ones(ctx, numbers<T>({1, 1, 1})), two(ctx, numbers<T>({2, 2, 2}));
    const OnDevice y(ctx, unwritten<T>(6)), sum(ctx, unwritten<T>(6));
    const OnDevice<float> mean(ctx, {0, 0}), rstd(ctx, {0, 0});
    kernels::norm_forward<T>(ctx, {.x = on_x.matrix(2, 3),
                                   .gamma = ones.view(),
                                   .beta = two.view(),
                                   .sum = sum.matrix(2, 3),
                                   .y = y.matrix(2, 3),
                                   .mean = mean.view(),
                                   .rstd = rstd.view()});
    const double a = std::sqrt(1.5), b = 1 / std::sqrt(2.0);
    const std::vector<float> expected{static_cast<float>(2 - a), 2.0f,
                                      static_cast<float>(2 + a), static_cast<float>(2 - b),
                                      static_cast<float>(2 - b), static_cast<float>(2 + 2 * b)};
    for (std::size_t i = 0; i < 6; ++i)
        CHECK(std::abs(to_double(y.values()[i]) - double{expected[i]}) < 0.02);
    CHECK(to_doubles(sum.values()) == to_doubles(x));
    CHECK(mean.values() == std::vector<float>{0, 3});
}

TEST_CASE_TEMPLATE("CUDA's layer norm of the sum alone writes over x what it wrote before", T,
                   float, bf16, fp16) {
    CudaContext ctx(0);
    const OnDevice<StepState> state(ctx, {host_state});
    const Dropout site{0.25f, 7, state.data()};
    const Coordinates coordinates(rows);
    const CoordinatesOnDevice device_places(ctx, coordinates);
    for (const std::int64_t cols : awkward_columns) {
        const OnDevice x(ctx, random_numbers<T>(rows * cols, 1));
        const OnDevice branch(ctx, random_numbers<T>(rows * cols, 2));
        const OnDevice gamma(ctx, about<T>(cols, 3, 1.0f)), beta(ctx, random_numbers<T>(cols, 4));
        const OnDevice mean(ctx, unwritten<float>(rows)), rstd(ctx, unwritten<float>(rows));
        const OnDevice y(ctx, unwritten<T>(rows * cols));
        const auto in_place = branch.matrix(rows, cols), over_x = x.matrix(rows, cols);
        kernels::norm_forward<T>(ctx, {.dropout = site,
                                       .coordinates = device_places.view(),
                                       .x = x.matrix(rows, cols),
                                       .branch = in_place,
                                       .gamma = gamma.view(),
                                       .beta = beta.view(),
                                       .sum = in_place,
                                       .y = over_x,
                                       .mean = mean.view(),
                                       .rstd = rstd.view()});
        const auto means = mean.values(), rstds = rstd.values();
        kernels::norm_forward<T>(ctx, {.x = in_place,
                                       .gamma = gamma.view(),
                                       .beta = beta.view(),
                                       .y = y.matrix(rows, cols),
                                       .mean = mean.view(),
                                       .rstd = rstd.view()});
        CHECK(to_doubles(y.values()) == to_doubles(x.values()));
        CHECK(mean.values() == means);
        CHECK(rstd.values() == rstds);
    }
}

TEST_CASE_TEMPLATE("CUDA's layer norm backward is the CPU's, and the same at each call", T, float,
                   bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    const OnDevice<StepState> state(ctx, {host_state});
    const Coordinates coordinates(rows);
    const CoordinatesOnDevice device_places(ctx, coordinates);
    for (const std::int64_t cols : awkward_columns) {
        if (cols == 1) continue;  // the gradient is a rounding error times 1 / sqrt(epsilon)
        const Dropout on_cpu{0.25f, 7, &host_state}, on_gpu{0.25f, 7, state.data()};
        const auto dy = random_numbers<T>(rows * cols, 1),
                   d_sum = random_numbers<T>(rows * cols, 2);
        const auto sum = about<T>(rows * cols, 3, 1.0f), gamma = about<T>(cols, 4, 1.0f);
        auto wide_dy = widened(dy), wide_d_sum = widened(d_sum), wide_sum = widened(sum);
        const auto wide_gamma = widened(gamma);
        std::vector<float> mean(rows), rstd(rows), y(wide_sum.size());
        kernels::norm_forward<float>(cpu, {.x = matrix_of(wide_sum, rows, cols),
                                           .gamma = const_view_of(wide_gamma),
                                           .beta = const_view_of(wide_gamma),
                                           .y = matrix_of(y, rows, cols),
                                           .mean = view_of(mean),
                                           .rstd = view_of(rstd)});
        std::vector<float> dx(y.size());
        std::vector<float> dgamma(static_cast<std::size_t>(cols), 1.0f), dbeta = dgamma;
        kernels::norm_backward<float>(cpu, {.dropout = on_cpu,
                                            .coordinates = coordinates.view(),
                                            .dy = matrix_of(wide_dy, rows, cols),
                                            .d_sum = matrix_of(wide_d_sum, rows, cols),
                                            .sum = matrix_of(wide_sum, rows, cols),
                                            .mean = const_view_of(mean),
                                            .rstd = const_view_of(rstd),
                                            .gamma = const_view_of(wide_gamma),
                                            .dx = matrix_of(dx, rows, cols),
                                            .dgamma = view_of(dgamma),
                                            .dbeta = view_of(dbeta),
                                            .into = kernels::Into::add});

        std::vector<float> first, first_bias;
        for (int call = 0; call < 2; ++call) {
            const OnDevice on_dy(ctx, dy), on_d_sum(ctx, d_sum), on_sum(ctx, sum);
            const OnDevice on_mean(ctx, mean), on_rstd(ctx, rstd), on_gamma(ctx, gamma);
            const OnDevice on_dx(ctx, unwritten<T>(rows * cols));
            const OnDevice on_branch(ctx, unwritten<T>(rows * cols));
            const OnDevice on_dgamma(ctx, std::vector<float>(dgamma.size(), 1.0f));
            const OnDevice on_dbeta(ctx, std::vector<float>(dgamma.size(), 1.0f));
            const OnDevice on_dbias(ctx, std::vector<float>(dgamma.size(), 1.0f));
            kernels::norm_backward<T>(ctx, {.dropout = on_gpu,
                                            .coordinates = device_places.view(),
                                            .dy = on_dy.matrix(rows, cols),
                                            .d_sum = on_d_sum.matrix(rows, cols),
                                            .sum = on_sum.matrix(rows, cols),
                                            .mean = on_mean.view(),
                                            .rstd = on_rstd.view(),
                                            .gamma = on_gamma.view(),
                                            .dx = on_dx.matrix(rows, cols),
                                            .d_branch = on_branch.matrix(rows, cols),
                                            .dgamma = on_dgamma.view(),
                                            .dbeta = on_dbeta.view(),
                                            .dbias = on_dbias.view(),
                                            .into = kernels::Into::add});
            require_close(on_dx.values(), dx, 64, 2);
            // The mask is applied to the rounded values.
            auto masked = widened(on_dx.values());
            kernels::dropout<float>(cpu, on_cpu, coordinates.view(), matrix_of(masked, rows, cols),
                                    matrix_of(masked, rows, cols));
            require_close(on_branch.values(), masked);
            require_close(on_dgamma.values(), dgamma, rows, 8);
            require_close(on_dbeta.values(), dbeta, rows, 8);
            if (first.empty()) first = on_dgamma.values();
            CHECK(same_bits(on_dgamma.values(), first));
            std::vector<float> dbias(dgamma.size(), 1.0f);
            auto branch = widened(on_branch.values());
            kernels::bias_backward<float>(cpu, matrix_of(branch, rows, cols), view_of(dbias),
                                          kernels::Into::add);
            require_close(on_dbias.values(), dbias, rows, 8);
            if (first_bias.empty()) first_bias = on_dbias.values();
            CHECK(same_bits(on_dbias.values(), first_bias));
        }
    }
}

TEST_CASE_TEMPLATE("CUDA's layer norm backward in place, without a residual", T, float, bf16,
                   fp16) {
    CudaContext ctx(0);
    const OnDevice dy(ctx, numbers<T>({1, 0, 0, 0, 1, 0})),
        sum(ctx, numbers<T>({-1, 0, 1, -1, 0, 1}));
    const OnDevice gamma(ctx, numbers<T>({1, 1, 1}));
    const OnDevice<float> mean(ctx, {0, 0}), rstd(ctx, {1, 1}), dgamma(ctx, {0, 0, 0});
    const OnDevice<float> dbeta(ctx, {0, 0, 5}), dbias(ctx, {0, 0, 5});
    kernels::norm_backward<T>(ctx, {.dy = dy.matrix(2, 3),
                                    .sum = sum.matrix(2, 3),
                                    .mean = mean.view(),
                                    .rstd = rstd.view(),
                                    .gamma = gamma.view(),
                                    .dx = dy.matrix(2, 3),
                                    .dgamma = dgamma.view(),
                                    .dbeta = dbeta.view(),
                                    .dbias = dbias.view(),
                                    .into = kernels::Into::add});
    // The expected values are g - mean(g) - h mean(g h).
    const double third = 1.0 / 3;
    const std::vector<double> expected{third, -third, 0, -third, 2 * third, -third};
    const std::vector<double> sums{0, third, 5 - third};
    const auto dx = dy.values();
    for (std::size_t i = 0; i < 6; ++i) CHECK(close(to_double(dx[i]), expected[i], dtype_of<T>));
    CHECK(dgamma.values() == std::vector<float>{-1, 0, 0});
    CHECK(dbeta.values() == std::vector<float>{1, 1, 5});
    const auto bias = dbias.values();
    for (std::size_t j = 0; j < 3; ++j) CHECK(close(double{bias[j]}, sums[j], dtype_of<T>, 2));

    const CudaMatrix<T> none(nullptr, 0, 3);
    kernels::norm_backward<T>(ctx, {.dy = none,
                                    .sum = none,
                                    .mean = {},
                                    .rstd = {},
                                    .gamma = gamma.view(),
                                    .dx = none,
                                    .dgamma = dgamma.view(),
                                    .dbeta = dbeta.view(),
                                    .into = kernels::Into::overwrite});
    CHECK(dgamma.values() == std::vector<float>(3));
    CHECK(dbeta.values() == std::vector<float>(3));
}

TEST_CASE_TEMPLATE("CUDA's layer norm backward is the same where no bias's gradient is wanted", T,
                   float, bf16, fp16) {
    CudaContext ctx(0);
    for (const std::int64_t cols : awkward_columns) {
        const OnDevice dy(ctx, random_numbers<T>(rows * cols, 1)),
            sum(ctx, about<T>(rows * cols, 2, 1.0f)), gamma(ctx, about<T>(cols, 3, 1.0f));
        const OnDevice mean(ctx, std::vector<float>(rows, 1.0f)),
            rstd(ctx, std::vector<float>(rows, 2.0f));
        const std::vector<float> none(static_cast<std::size_t>(cols));
        const OnDevice dbias(ctx, none);
        const auto backward = [&](CudaView<float> bias) {
            const OnDevice dx(ctx, unwritten<T>(rows * cols));
            const OnDevice dgamma(ctx, none), dbeta(ctx, none);
            kernels::norm_backward<T>(ctx, {.dy = dy.matrix(rows, cols),
                                            .sum = sum.matrix(rows, cols),
                                            .mean = mean.view(),
                                            .rstd = rstd.view(),
                                            .gamma = gamma.view(),
                                            .dx = dx.matrix(rows, cols),
                                            .dgamma = dgamma.view(),
                                            .dbeta = dbeta.view(),
                                            .dbias = bias,
                                            .into = kernels::Into::add});
            return std::tuple(to_doubles(dx.values()), dgamma.values(), dbeta.values());
        };
        const auto [dx, dgamma, dbeta] = backward(dbias.view());
        const auto [dx_alone, dgamma_alone, dbeta_alone] = backward({});
        CHECK(dx_alone == dx);
        // There may be more blocks, each with fewer rows.
        require_close(dgamma_alone, dgamma, rows, 8);
        require_close(dbeta_alone, dbeta, rows, 8);
    }
}

TEST_CASE_TEMPLATE("CUDA's residual and add are the CPU's", T, float, bf16, fp16) {
    CudaContext ctx(0);
    const OnDevice<StepState> state(ctx, {host_state});
    const Coordinates coordinates(rows);
    const CoordinatesOnDevice device_places(ctx, coordinates);
    for (const std::int64_t cols : awkward_columns)
        for (const float rate : {0.0f, 0.25f}) {
            const auto x = random_numbers<T>(rows * cols, 1),
                       branch = random_numbers<T>(rows * cols, 2);
            const OnDevice on_x(ctx, x), on_branch(ctx, branch);
            kernels::residual_forward<T>(ctx, {rate, 7, state.data()}, device_places.view(),
                                         on_x.matrix(rows, cols), on_branch.matrix(rows, cols),
                                         on_x.matrix(rows, cols));
            const auto expected = residual<T>({rate, 7, &host_state}, coordinates, x, branch, cols);
            require_close(on_x.values(), expected);
            if (rate > 0) continue;
            const OnDevice y(ctx, x);
            kernels::add<T>(ctx, on_branch.matrix(rows, cols), y.matrix(rows, cols));
            require_close(y.values(), expected);
        }
}
