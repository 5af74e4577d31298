// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/norm.hpp"
#include "tests/runtime/kernels/cuda/against_cpu.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::CudaContext;
using kernels::Dropout;
using kernels::NormKind;
using kernels::StepState;

namespace {

// There are more rows than all blocks of the emulated device take at once.
constexpr std::int64_t rms_rows = 83;
constexpr float rms_epsilon = 1e-6f;
const StepState rms_state{.seed = 3, .step = 4};

template <class T>
std::vector<T> near_one(std::int64_t count, std::uint64_t key) {
    auto values = random_numbers<T>(count, key);
    for (T& value : values) value = static_cast<T>(static_cast<float>(value) + 1.0f);
    return values;
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's rms norm of a residual is the CPU's", T, float, bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    const OnDevice<StepState> state(ctx, {rms_state});
    const Coordinates coordinates(rms_rows);
    const CoordinatesOnDevice device_places(ctx, coordinates);
    for (const std::int64_t cols : awkward_columns)
        for (const float rate : {0.0f, 0.25f}) {
            const std::int64_t count = rms_rows * cols;
            const auto x = near_one<T>(count, 1), branch = random_numbers<T>(count, 2);
            const auto gamma = near_one<T>(cols, 3);
            const OnDevice on_x(ctx, x), on_branch(ctx, branch), on_gamma(ctx, gamma);
            const OnDevice y(ctx, unwritten<T>(count)), sum(ctx, unwritten<T>(count));
            const OnDevice rstd(ctx, unwritten<float>(rms_rows));
            kernels::norm_forward<T>(ctx, {.kind = NormKind::rms,
                                           .epsilon = rms_epsilon,
                                           .dropout = {rate, 7, state.data()},
                                           .coordinates = device_places.view(),
                                           .x = on_x.matrix(rms_rows, cols),
                                           .branch = on_branch.matrix(rms_rows, cols),
                                           .gamma = on_gamma.view(),
                                           .sum = sum.matrix(rms_rows, cols),
                                           .y = y.matrix(rms_rows, cols),
                                           .rstd = rstd.view()});
            auto wide_x = widened(x), wide_branch = widened(branch);
            std::vector<float> sums(wide_x.size());
            kernels::residual_forward<float>(
                cpu, {rate, 7, &rms_state}, coordinates.view(), matrix_of(wide_x, rms_rows, cols),
                matrix_of(wide_branch, rms_rows, cols), matrix_of(sums, rms_rows, cols));
            require_close(sum.values(), sums);
            auto wide_sum = widened(sum.values());
            const auto wide_gamma = widened(gamma);
            std::vector<float> expected(wide_sum.size()), rstds(rms_rows);
            kernels::norm_forward<float>(cpu, {.kind = NormKind::rms,
                                               .epsilon = rms_epsilon,
                                               .x = matrix_of(wide_sum, rms_rows, cols),
                                               .gamma = const_view_of(wide_gamma),
                                               .y = matrix_of(expected, rms_rows, cols),
                                               .rstd = view_of(rstds)});
            // With one column the value may be tiny, and its inverse large.
            if (cols > 1) require_close(rstd.values(), rstds, cols, 8);
            // The normed value is rounded before its product is, to T and not to float.
            const auto scale = rstd.values();
            std::vector<float> product(wide_sum.size());
            for (std::size_t i = 0; i < product.size(); ++i) {
                const auto row = i / static_cast<std::size_t>(cols);
                const auto column = i % static_cast<std::size_t>(cols);
                product[i] = static_cast<float>(static_cast<T>(wide_sum[i] * scale[row])) *
                             wide_gamma[column];
            }
            require_close(y.values(), product);
        }
}

TEST_CASE_TEMPLATE("CUDA's rms norm backward is the CPU's, and the same at each call", T, float,
                   bf16, fp16) {
    CudaContext ctx(0);
    CpuContext cpu(1);
    const OnDevice<StepState> state(ctx, {rms_state});
    const Coordinates coordinates(rms_rows);
    const CoordinatesOnDevice device_places(ctx, coordinates);
    for (const std::int64_t cols : awkward_columns) {
        if (cols == 1) continue;  // the gradient is a rounding error
        const std::int64_t count = rms_rows * cols;
        const Dropout on_cpu{0.25f, 7, &rms_state}, on_gpu{0.25f, 7, state.data()};
        const auto dy = random_numbers<T>(count, 1), d_sum = random_numbers<T>(count, 2);
        const auto sum = near_one<T>(count, 3), gamma = near_one<T>(cols, 4);
        auto wide_dy = widened(dy), wide_d_sum = widened(d_sum), wide_sum = widened(sum);
        const auto wide_gamma = widened(gamma);
        std::vector<float> rstd(rms_rows), dx(wide_sum.size());
        std::vector<float> dgamma(static_cast<std::size_t>(cols), 1.0f);
        kernels::norm_forward<float>(cpu, {.kind = NormKind::rms,
                                           .epsilon = rms_epsilon,
                                           .x = matrix_of(wide_sum, rms_rows, cols),
                                           .gamma = const_view_of(wide_gamma),
                                           .y = matrix_of(dx, rms_rows, cols),
                                           .rstd = view_of(rstd)});
        kernels::norm_backward<float>(cpu, {.kind = NormKind::rms,
                                            .dropout = on_cpu,
                                            .coordinates = coordinates.view(),
                                            .dy = matrix_of(wide_dy, rms_rows, cols),
                                            .d_sum = matrix_of(wide_d_sum, rms_rows, cols),
                                            .sum = matrix_of(wide_sum, rms_rows, cols),
                                            .rstd = const_view_of(rstd),
                                            .gamma = const_view_of(wide_gamma),
                                            .dx = matrix_of(dx, rms_rows, cols),
                                            .dgamma = view_of(dgamma),
                                            .into = kernels::Into::add});
        std::vector<float> first, first_bias;
        for (const bool with_bias : {false, true, true}) {
            const OnDevice on_dy(ctx, dy), on_d_sum(ctx, d_sum), on_sum(ctx, sum);
            const OnDevice on_rstd(ctx, rstd), on_gamma(ctx, gamma);
            const OnDevice on_dx(ctx, unwritten<T>(count)), on_branch(ctx, unwritten<T>(count));
            const OnDevice on_dgamma(ctx, std::vector<float>(dgamma.size(), 1.0f));
            const OnDevice on_dbias(ctx, std::vector<float>(dgamma.size(), 1.0f));
            kernels::norm_backward<T>(ctx,
                                      {.kind = NormKind::rms,
                                       .dropout = on_gpu,
                                       .coordinates = device_places.view(),
                                       .dy = on_dy.matrix(rms_rows, cols),
                                       .d_sum = on_d_sum.matrix(rms_rows, cols),
                                       .sum = on_sum.matrix(rms_rows, cols),
                                       .rstd = on_rstd.view(),
                                       .gamma = on_gamma.view(),
                                       .dx = on_dx.matrix(rms_rows, cols),
                                       .d_branch = on_branch.matrix(rms_rows, cols),
                                       .dgamma = on_dgamma.view(),
                                       .dbias = with_bias ? on_dbias.view() : CudaView<float>(),
                                       .into = kernels::Into::add});
            require_close(on_dx.values(), dx, 64, 2);
            auto masked = widened(on_dx.values());
            kernels::dropout<float>(cpu, on_cpu, coordinates.view(),
                                    matrix_of(masked, rms_rows, cols),
                                    matrix_of(masked, rms_rows, cols));
            require_close(on_branch.values(), masked);
            require_close(on_dgamma.values(), dgamma, rms_rows, 8);
            if (!with_bias) continue;  // other blocks of rows
            if (first.empty()) first = on_dgamma.values();
            CHECK(same_bits(on_dgamma.values(), first));
            std::vector<float> dbias(dgamma.size(), 1.0f);
            auto branch = widened(on_branch.values());
            kernels::bias_backward<float>(cpu, matrix_of(branch, rms_rows, cols), view_of(dbias),
                                          kernels::Into::add);
            require_close(on_dbias.values(), dbias, rms_rows, 8);
            if (first_bias.empty()) first_bias = on_dbias.values();
            CHECK(same_bits(on_dbias.values(), first_bias));
        }
    }
}
