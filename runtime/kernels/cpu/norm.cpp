// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/norm.hpp"

#include <algorithm>

#include "runtime/kernels/cpu/column_sums.hpp"
#include "runtime/kernels/cpu/norm_rows.hpp"
#include "runtime/kernels/cpu/parallel.hpp"
#include "runtime/kernels/cpu/vector_math.hpp"
#include "runtime/kernels/shapes.hpp"

namespace lockstep::kernels {

namespace {

template <class T>
T* row_of(const HostMatrix<T>& matrix, std::int64_t i) {
    return matrix.empty() ? nullptr : matrix.data + i * matrix.stride;
}

template <class T>
[[gnu::always_inline]] inline void add_columns(const T* x, T* y, std::int64_t d) {
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j) cpu::store(y[j], cpu::load(y[j]) + cpu::load(x[j]));
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_row(const float* x,
                                                                                   float* y,
                                                                                   std::int64_t d) {
    add_columns(x, y, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_row(const bf16* x,
                                                                                   bf16* y,
                                                                                   std::int64_t d) {
    add_columns(x, y, d);
}

}  // namespace

template <class T>
void norm_forward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                  HostMatrix<const T> x, HostMatrix<const T> branch, HostView<const T> gamma,
                  HostView<const T> beta, HostMatrix<T> sum, HostMatrix<T> y, HostView<float> mean,
                  HostView<float> rstd) {
    const auto d = static_cast<std::size_t>(x.cols);
    require(same_shape(x, y) && gamma.size() == d && beta.size() == d &&
                mean.size() >= static_cast<std::size_t>(x.rows) && rstd.size() >= mean.size(),
            "norm: shapes differ");
    require(branch.empty() || (same_shape(x, branch) && same_shape(x, sum)),
            "norm: the residual's shapes differ");
    const cpu::RowMask mask = cpu::row_mask(site);
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        const T* from = row_of(x, i);
        if (T* to = row_of(sum, i); to != nullptr) {
            if (branch.empty())
                std::copy_n(from, x.cols, to);
            else
                cpu::residual_row(cpu::at(mask, places, i), from, row_of(branch, i), to, x.cols);
            from = to;  // the rounded sum, because backward sees no other value
        }
        const auto moments = cpu::norm_row(from, gamma.data(), beta.data(), layer_norm_epsilon,
                                           row_of(y, i), x.cols);
        mean[static_cast<std::size_t>(i)] = moments.mean;
        rstd[static_cast<std::size_t>(i)] = moments.rstd;
    });
}

template <class T>
void norm_backward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                   HostMatrix<const T> dy, HostMatrix<const T> d_sum, HostMatrix<const T> sum,
                   HostView<const float> mean, HostView<const float> rstd, HostView<const T> gamma,
                   HostMatrix<T> dx, HostMatrix<T> d_branch, HostView<float> dgamma,
                   HostView<float> dbeta, HostView<float> dbias, Into into) {
    const auto d = static_cast<std::size_t>(sum.cols);
    require(same_shape(dy, sum) && same_shape(dx, sum) && gamma.size() == d && dgamma.size() == d &&
                dbeta.size() == d && (dbias.empty() || dbias.size() == d),
            "norm backward: shapes differ");
    require((d_sum.empty() || same_shape(d_sum, sum)) &&
                (d_branch.empty() || same_shape(d_branch, sum)),
            "norm backward: the residual's shapes differ");
    const cpu::RowMask mask = cpu::row_mask(site);
    // The totals lie side by side, so that one pass over the rows calculates all of them.
    const HostView<float> wanted[] = {dgamma, dbeta, dbias};
    const std::int64_t columns = (dbias.empty() ? 2 : 3) * sum.cols;
    const auto totals = cpu::scratch<float>(ctx, cpu::ScratchMemory::Slot::totals, columns);
    float* to = totals.data();
    if (into == Into::add)
        for (const auto& total : wanted) to = std::copy(total.begin(), total.end(), to);
    cpu::column_sums(ctx, sum.rows, columns, totals, into, [&](std::int64_t i, float* sums) {
        const cpu::NormGradients<T> row{row_of(dy, i), row_of(d_sum, i), row_of(sum, i),
                                        gamma.data(),  row_of(dx, i),    row_of(d_branch, i),
                                        sums,          sums + sum.cols};
        const auto at = static_cast<std::size_t>(i);
        cpu::norm_backward_row(cpu::at(mask, places, i), row, {mean[at], rstd[at]}, sum.cols);
        if (dbias.empty()) return;
        const T* d_bias_row = d_branch.empty() ? row.dx : row.d_branch;
        cpu::add_to_sums(d_bias_row, sums + 2 * sum.cols, sum.cols);
    });
    const float* from = totals.data();
    for (const auto& total : wanted) {
        std::copy_n(from, total.size(), total.data());
        from += total.size();
    }
}

template <class T>
void residual_forward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                      HostMatrix<const T> x, HostMatrix<const T> branch, HostMatrix<T> sum) {
    require(same_shape(x, branch) && same_shape(x, sum), "residual: shapes differ");
    const cpu::RowMask mask = cpu::row_mask(site);
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        cpu::residual_row(cpu::at(mask, places, i), row_of(x, i), row_of(branch, i), row_of(sum, i),
                          x.cols);
    });
}

template <class T>
void add(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<T> y) {
    require(same_shape(x, y), "add: shapes differ");
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols,
                      [&](std::int64_t i) { add_row(row_of(x, i), row_of(y, i), x.cols); });
}

template void norm_forward(CpuContext&, const Dropout&, TokenPlaces<HostSpace>,
                           HostMatrix<const float>, HostMatrix<const float>, HostView<const float>,
                           HostView<const float>, HostMatrix<float>, HostMatrix<float>,
                           HostView<float>, HostView<float>);
template void norm_forward(CpuContext&, const Dropout&, TokenPlaces<HostSpace>,
                           HostMatrix<const bf16>, HostMatrix<const bf16>, HostView<const bf16>,
                           HostView<const bf16>, HostMatrix<bf16>, HostMatrix<bf16>,
                           HostView<float>, HostView<float>);
template void norm_backward(CpuContext&, const Dropout&, TokenPlaces<HostSpace>,
                            HostMatrix<const float>, HostMatrix<const float>,
                            HostMatrix<const float>, HostView<const float>, HostView<const float>,
                            HostView<const float>, HostMatrix<float>, HostMatrix<float>,
                            HostView<float>, HostView<float>, HostView<float>, Into);
template void norm_backward(CpuContext&, const Dropout&, TokenPlaces<HostSpace>,
                            HostMatrix<const bf16>, HostMatrix<const bf16>, HostMatrix<const bf16>,
                            HostView<const float>, HostView<const float>, HostView<const bf16>,
                            HostMatrix<bf16>, HostMatrix<bf16>, HostView<float>, HostView<float>,
                            HostView<float>, Into);
template void residual_forward(CpuContext&, const Dropout&, TokenPlaces<HostSpace>,
                               HostMatrix<const float>, HostMatrix<const float>, HostMatrix<float>);
template void residual_forward(CpuContext&, const Dropout&, TokenPlaces<HostSpace>,
                               HostMatrix<const bf16>, HostMatrix<const bf16>, HostMatrix<bf16>);
template void add(CpuContext&, HostMatrix<const float>, HostMatrix<float>);
template void add(CpuContext&, HostMatrix<const bf16>, HostMatrix<bf16>);

}  // namespace lockstep::kernels
