// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/kernels/cpu/adafactor_rows.hpp"
#include "runtime/kernels/cpu/primitives/column_sums.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/optimizer_checks.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

namespace row_kernels = cpu::adafactor_rows;
using Slot = cpu::ScratchMemory::Slot;

constexpr std::int64_t block = 4096;

// These are the numbers of one update, calculated as in fairseq.
struct Update {
    float gradient_scale, epsilon, beta2;
};

double sum_in_order(HostView<const double> parts) {
    return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Updates the running averages of the row means and the column means of g^2 + epsilon.
void average_squares(CpuContext& ctx, const Update& u, HostMatrix<const float> gradient,
                     HostView<float> row, HostView<float> column) {
    const auto sums = cpu::scratch<float>(ctx, Slot::totals, gradient.cols);
    const float rest = 1.0f - u.beta2;
    const auto cols = static_cast<float>(gradient.cols), count = static_cast<float>(gradient.rows);
    cpu::column_sums(ctx, gradient.rows, gradient.cols, sums, Into::overwrite,
                     [&](std::int64_t i, float* column_sums) {
                         const float sum = row_kernels::add_squares(
                             gradient.data + i * gradient.stride, u.gradient_scale, u.epsilon,
                             column_sums, gradient.cols);
                         float& average = row[static_cast<std::size_t>(i)];
                         average = u.beta2 * average + rest * sum / cols;
                     });
    for (std::size_t j = 0; j < column.size(); ++j)
        column[j] = u.beta2 * column[j] + rest * sums[j] / count;
}

// Writes the update to `scratch` and returns the sum of its squares.
double factored(CpuContext& ctx, const Update& u, HostMatrix<const float> gradient,
                HostView<float> row, HostView<float> column, HostView<float> scratch) {
    average_squares(ctx, u, gradient, row, column);
    const double row_mean =
        std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
    const auto factors = cpu::scratch<float>(ctx, Slot::totals, gradient.cols);
    for (std::size_t j = 0; j < column.size(); ++j) factors[j] = 1.0f / std::sqrt(column[j]);
    const auto squares = cpu::scratch<double>(ctx, Slot::losses, gradient.rows);
    cpu::parallel_for(ctx, gradient.rows, gradient.rows * gradient.cols, [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        const float factor = 1.0f / std::sqrt(row[at] / static_cast<float>(row_mean));
        squares[at] = double{row_kernels::factored_update(
            gradient.data + i * gradient.stride, u.gradient_scale, factor, factors.data(),
            scratch.data() + i * gradient.cols, gradient.cols)};
    });
    return sum_in_order(squares);
}

double unfactored(CpuContext& ctx, const Update& u, HostMatrix<const float> gradient,
                  HostView<float> full, HostView<float> scratch) {
    const std::int64_t n = gradient.rows * gradient.cols;
    const auto squares = cpu::scratch<double>(ctx, Slot::losses, (n + block - 1) / block);
    cpu::parallel_blocks(
        ctx, n, block, n, [&](std::int64_t index, std::int64_t first, std::int64_t count) {
            squares[static_cast<std::size_t>(index)] = double{row_kernels::full_update(
                gradient.data + first, u.gradient_scale, u.epsilon, u.beta2, full.data() + first,
                scratch.data() + first, count)};
        });
    return sum_in_order(squares);
}

// Must run before the update: the scale depends on the weights that the update is applied to.
double learning_rate(CpuContext& ctx, const AdafactorOptions& options, const StepState& state,
                     HostView<const float> master) {
    const auto t = static_cast<double>(state.updates + 1);
    const double step = options.step == AdafactorOptions::Step::relative
                            ? std::min(1e-2, 1.0 / std::sqrt(t))
                            : double{state.lr};
    if (options.scale == AdafactorOptions::Scale::none) return step;
    const double rms = std::sqrt(sum_of_squares(ctx, master) / static_cast<double>(master.size()));
    return step * std::max(double{options.epsilon2}, rms);
}

}  // namespace

void reserve_adafactor(CpuContext&) {}

template <class T>
void adafactor(CpuContext& ctx, const Adafactor<T, HostSpace>& o) {
    const std::int64_t n = o.gradient.rows * o.gradient.cols;
    if (n == 0) return;
    check(o);
    if (o.state->skip != 0) return;
    const HostView<float> weights(o.master.data, static_cast<std::size_t>(n));
    const double lr = learning_rate(ctx, o.options, *o.state, weights);
    const double beta2 =
        1.0 - std::pow(static_cast<double>(o.state->updates + 1), double{o.options.decay_rate});
    const Update u{o.state->gradient_scale, o.options.epsilon1, static_cast<float>(beta2)};
    const double squares = factorises(o) ? factored(ctx, u, o.gradient, o.row, o.column, o.scratch)
                                         : unfactored(ctx, u, o.gradient, o.full, o.scratch);
    const double rms = std::sqrt(squares / static_cast<double>(n));
    const double divisor = std::max(1.0, rms / double{o.options.clip_threshold});
    const row_kernels::Apply how{static_cast<float>(lr / divisor),
                                 static_cast<float>(1.0 - double{o.options.weight_decay} * lr),
                                 o.options.beta1};
    cpu::parallel_blocks(
        ctx, n, block, n, [&](std::int64_t, std::int64_t first, std::int64_t count) {
            row_kernels::apply(how,
                               row_kernels::Range<T>{
                                   o.scratch.data() + first,
                                   o.first_moment.empty() ? nullptr : o.first_moment.data() + first,
                                   weights.data() + first,
                                   o.compute.empty() ? nullptr : o.compute.data() + first, count});
        });
}

template void adafactor(CpuContext&, const Adafactor<float, HostSpace>&);
template void adafactor(CpuContext&, const Adafactor<bf16, HostSpace>&);

}  // namespace lockstep::kernels
