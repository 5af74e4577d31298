// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/norm.hpp"

#include <algorithm>

#include "runtime/kernels/cpu/norm_rows.hpp"
#include "runtime/kernels/cpu/primitives/column_sums.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/norm_checks.hpp"

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

template <class T>
void norm_row(const NormForward<T, HostSpace>& o, const T* from, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (o.kind == NormKind::rms) {
        o.rstd[at] = cpu::rms_norm_row(from, o.gamma.data(), o.epsilon, row_of(o.y, i), o.x.cols);
        return;
    }
    const auto moments =
        cpu::norm_row(from, o.gamma.data(), o.beta.data(), o.epsilon, row_of(o.y, i), o.x.cols);
    o.mean[at] = moments.mean;
    o.rstd[at] = moments.rstd;
}

template <class T>
void backward_row(const NormBackward<T, HostSpace>& o, const cpu::RowMask& mask,
                  const cpu::NormGradients<T>& row, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (o.kind == NormKind::rms)
        cpu::rms_norm_backward_row(mask, row, o.rstd[at], o.sum.cols);
    else
        cpu::norm_backward_row(mask, row, {o.mean[at], o.rstd[at]}, o.sum.cols);
}

}  // namespace

template <class T>
void norm_forward(CpuContext& ctx, const NormForward<T, HostSpace>& o) {
    check(o);
    const cpu::RowMask mask = cpu::row_mask(o.dropout);
    const std::int64_t d = o.x.cols;
    cpu::parallel_for(ctx, o.x.rows, o.x.rows * d, [&](std::int64_t i) {
        const T* from = row_of(o.x, i);
        if (T* to = row_of(o.sum, i); to != nullptr) {
            if (o.branch.empty())
                std::copy_n(from, d, to);
            else
                cpu::residual_row(cpu::at(mask, o.coordinates, i), from, row_of(o.branch, i), to,
                                  d);
            from = to;  // the rounded sum, because backward sees no other value
        }
        norm_row(o, from, i);
    });
}

template <class T>
void norm_backward(CpuContext& ctx, const NormBackward<T, HostSpace>& o) {
    check(o);
    const cpu::RowMask mask = cpu::row_mask(o.dropout);
    const std::int64_t d = o.sum.cols;
    // The totals lie side by side, so that one pass over the rows calculates all of them.
    const HostView<float> wanted[] = {o.dgamma, o.dbeta, o.dbias};
    std::int64_t columns = 0;
    for (const auto& total : wanted) columns += static_cast<std::int64_t>(total.size());
    const auto totals = cpu::scratch<float>(ctx, cpu::ScratchMemory::Slot::totals, columns);
    float* to = totals.data();
    if (o.into == Into::add)
        for (const auto& total : wanted) to = std::copy(total.begin(), total.end(), to);
    cpu::column_sums(ctx, o.sum.rows, columns, totals, o.into, [&](std::int64_t i, float* sums) {
        const cpu::NormGradients<T> row{row_of(o.dy, i),
                                        row_of(o.d_sum, i),
                                        row_of(o.sum, i),
                                        o.gamma.data(),
                                        row_of(o.dx, i),
                                        row_of(o.d_branch, i),
                                        sums,
                                        o.dbeta.empty() ? nullptr : sums + d,
                                        o.dbias.empty() ? nullptr : sums + columns - d};
        backward_row(o, cpu::at(mask, o.coordinates, i), row, i);
    });
    const float* from = totals.data();
    for (const auto& total : wanted) {
        std::copy_n(from, total.size(), total.data());
        from += total.size();
    }
}

template <class T>
void residual_forward(CpuContext& ctx, const Dropout& site, TokenCoordinates<HostSpace> coordinates,
                      HostMatrix<const T> x, HostMatrix<const T> branch, HostMatrix<T> sum) {
    require(same_shape(x, branch) && same_shape(x, sum), "residual: shapes differ");
    const cpu::RowMask mask = cpu::row_mask(site);
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        cpu::residual_row(cpu::at(mask, coordinates, i), row_of(x, i), row_of(branch, i),
                          row_of(sum, i), x.cols);
    });
}

template <class T>
void add(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<T> y) {
    require(same_shape(x, y), "add: shapes differ");
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols,
                      [&](std::int64_t i) { add_row(row_of(x, i), row_of(y, i), x.cols); });
}

template void norm_forward(CpuContext&, const NormForward<float, HostSpace>&);
template void norm_forward(CpuContext&, const NormForward<bf16, HostSpace>&);
template void norm_backward(CpuContext&, const NormBackward<float, HostSpace>&);
template void norm_backward(CpuContext&, const NormBackward<bf16, HostSpace>&);
template void residual_forward(CpuContext&, const Dropout&, TokenCoordinates<HostSpace>,
                               HostMatrix<const float>, HostMatrix<const float>, HostMatrix<float>);
template void residual_forward(CpuContext&, const Dropout&, TokenCoordinates<HostSpace>,
                               HostMatrix<const bf16>, HostMatrix<const bf16>, HostMatrix<bf16>);
template void add(CpuContext&, HostMatrix<const float>, HostMatrix<float>);
template void add(CpuContext&, HostMatrix<const bf16>, HostMatrix<bf16>);

}  // namespace lockstep::kernels
