// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear.hpp"

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/cpu/column_sums.hpp"
#include "runtime/kernels/cpu/matmul.hpp"
#include "runtime/kernels/cpu/parallel.hpp"
#include "runtime/kernels/cpu/scratch.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

// oneDNN 2.6 slows down where the inner dimension is as long as a vocabulary (fp32 by 40 %, bf16 by
// 25 %), and in bf16 where all columns of a transposed factor are multiplied at once (by 15 %):
// long products are run in panels.
constexpr std::int64_t longest_inner = 8192, inner_panel = 4096, widest_panel = 768;

// c = or += dy w by panels of the inner dimension.
template <class T, class C>
void multiply_panels(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                     HostMatrix<C> c, cpu::Accumulate accumulate) {
    for (std::int64_t k = 0; k < w.rows; k += inner_panel) {
        const std::int64_t inner = std::min(inner_panel, w.rows - k);
        cpu::multiply(ctx, {dy.rows, w.cols, inner, cpu::factor(dy.columns(k, inner)),
                            cpu::factor(w.rows_from(k, inner)), nullptr, c.data, cpu::element_of<C>,
                            c.stride, k == 0 ? accumulate : cpu::Accumulate::add});
    }
}

template <class From, class To>
void cast_rows(CpuContext& ctx, HostMatrix<const From> from, HostMatrix<To> to) {
    const auto cols = static_cast<std::size_t>(from.cols);
    for (std::int64_t i = 0; i < from.rows; ++i)
        cast<From, To>(ctx, {from.data + i * from.stride, cols}, {to.data + i * to.stride, cols});
}

// The panels' sum stays in fp32 until it is complete.
void multiply_long(CpuContext& ctx, HostMatrix<const bf16> dy, HostMatrix<const bf16> w,
                   HostMatrix<bf16> dx, cpu::Accumulate accumulate) {
    using cpu::ScratchMemory;
    const auto memory = cpu::scratch<float>(ctx, ScratchMemory::Slot::result, dx.rows * dx.cols);
    const HostMatrix<float> sum(memory.data(), dx.rows, dx.cols);
    if (accumulate == cpu::Accumulate::add) cast_rows<bf16, float>(ctx, dx, sum);
    multiply_panels(ctx, dy, w, sum, accumulate);
    cast_rows<float, bf16>(ctx, sum, dx);
}
void multiply_long(CpuContext& ctx, HostMatrix<const float> dy, HostMatrix<const float> w,
                   HostMatrix<float> dx, cpu::Accumulate accumulate) {
    multiply_panels(ctx, dy, w, dx, accumulate);
}

template <class T>
void multiply_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                    HostMatrix<T> dx, cpu::Accumulate accumulate) {
    require(dy.cols == w.rows && dx.cols == w.cols && dx.rows == dy.rows,
            "linear backward: shapes differ");
    if (w.rows > longest_inner) return multiply_long(ctx, dy, w, dx, accumulate);
    cpu::multiply(ctx, {dy.rows, w.cols, w.rows, cpu::factor(dy), cpu::factor(w), nullptr, dx.data,
                        cpu::element_of<T>, dx.stride, accumulate});
}

// How many of dy's columns are multiplied at once for the weights' gradient.
template <class T>
std::int64_t panel_of(std::int64_t columns) {
    constexpr std::int64_t smallest = 256, multiple = 16;
    if (columns < 2 * smallest) return columns;
    if (std::is_same_v<T, float> && columns <= longest_inner) return columns;
    const std::int64_t half = (columns / 2 + multiple - 1) / multiple * multiple;
    return std::min(half, widest_panel);
}

template <class T>
[[gnu::always_inline]] inline void add_row(const T* x, float* sums, std::int64_t n) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) sums[j] += static_cast<float>(x[j]);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void accumulate(
    const float* x, float* sums, std::int64_t n) {
    add_row(x, sums, n);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void accumulate(
    const bf16* x, float* sums, std::int64_t n) {
    add_row(x, sums, n);
}

}  // namespace

template <class T>
void linear_forward(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> w,
                    HostView<const T> bias, HostMatrix<T> y) {
    require(x.cols == w.cols && y.cols == w.rows && y.rows == x.rows,
            "linear forward: shapes differ");
    require(bias.empty() || static_cast<std::int64_t>(bias.size()) == w.rows,
            "linear forward: the bias has another size");
    cpu::multiply(ctx, {x.rows, w.rows, w.cols, cpu::factor(x), cpu::transposed(w), bias.data(),
                        y.data, cpu::element_of<T>, y.stride, cpu::Accumulate::overwrite});
}

template <class T>
void linear_backward_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                           HostMatrix<T> dx) {
    multiply_input(ctx, dy, w, dx, cpu::Accumulate::overwrite);
}

template <class T>
void add_linear_backward_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                               HostMatrix<T> dx) {
    multiply_input(ctx, dy, w, dx, cpu::Accumulate::add);
}

template <class T>
void add_linear_backward_weight(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> dy,
                                HostMatrix<float> dw) {
    require(x.rows == dy.rows && dw.rows == dy.cols && dw.cols == x.cols,
            "linear weight gradient: shapes differ");
    if (x.rows == 0) return;
    const std::int64_t panel = panel_of<T>(dy.cols);
    for (std::int64_t first = 0; first < dy.cols; first += panel) {
        const std::int64_t columns = std::min(panel, dy.cols - first);
        cpu::multiply(ctx, {columns, x.cols, x.rows, cpu::transposed(dy.columns(first, columns)),
                            cpu::factor(x), nullptr, dw.data + first * dw.stride, cpu::Element::f32,
                            dw.stride, cpu::Accumulate::add});
    }
}

template <class T>
void add_bias_backward(CpuContext& ctx, HostMatrix<const T> dy, HostView<float> db) {
    require(static_cast<std::int64_t>(db.size()) == dy.cols, "bias gradient: sizes differ");
    cpu::add_column_sums(ctx, dy.rows, dy.cols, db, [&](std::int64_t row, float* sums) {
        accumulate(dy.data + row * dy.stride, sums, dy.cols);
    });
}

template void linear_forward(CpuContext&, HostMatrix<const float>, HostMatrix<const float>,
                             HostView<const float>, HostMatrix<float>);
template void linear_forward(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                             HostView<const bf16>, HostMatrix<bf16>);
template void linear_backward_input(CpuContext&, HostMatrix<const float>, HostMatrix<const float>,
                                    HostMatrix<float>);
template void linear_backward_input(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                                    HostMatrix<bf16>);
template void add_linear_backward_input(CpuContext&, HostMatrix<const float>,
                                        HostMatrix<const float>, HostMatrix<float>);
template void add_linear_backward_input(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                                        HostMatrix<bf16>);
template void add_linear_backward_weight(CpuContext&, HostMatrix<const float>,
                                         HostMatrix<const float>, HostMatrix<float>);
template void add_linear_backward_weight(CpuContext&, HostMatrix<const bf16>,
                                         HostMatrix<const bf16>, HostMatrix<float>);
template void add_bias_backward(CpuContext&, HostMatrix<const float>, HostView<float>);
template void add_bias_backward(CpuContext&, HostMatrix<const bf16>, HostView<float>);

}  // namespace lockstep::kernels
