// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear.hpp"

#include <bit>
#include <type_traits>

#include "runtime/kernels/cpu/column_sums.hpp"
#include "runtime/kernels/cpu/matmul.hpp"

namespace lockstep::kernels {

namespace {

using cpu::Accumulate;
using cpu::Method;

// Which of oneDNN 2.6's products is faster was measured (docs/performance.md). Its first choice is,
// for forward and for small factors in bf16; it loses up to half where it adds to the result or
// where a plain factor does not stay in the caches.
constexpr std::int64_t second_level_elements = std::int64_t{1} << 19;

template <class T>
Method input_method(HostMatrix<const T> w, Accumulate accumulate) {
    const bool small = std::is_same_v<T, bf16> && w.rows * w.cols <= second_level_elements;
    return small && accumulate == Accumulate::overwrite ? Method::first : Method::general;
}

// Rows of floats that are a power of two apart fall on the same cache lines when the general
// product transposes them.
template <class T>
Method weight_method(HostMatrix<const T> dy) {
    const bool collides =
        std::is_same_v<T, float> && std::has_single_bit(static_cast<std::uint64_t>(dy.stride));
    return collides ? Method::first : Method::general;
}

template <class T>
void multiply_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                    HostMatrix<T> dx, Accumulate accumulate) {
    require(dy.cols == w.rows && dx.cols == w.cols && dx.rows == dy.rows,
            "linear backward: shapes differ");
    cpu::multiply(ctx, {dy.rows, w.cols, w.rows, cpu::factor(dy), cpu::factor(w), nullptr, dx.data,
                        cpu::element_of<T>, dx.stride, accumulate, input_method(w, accumulate)});
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
                        y.data, cpu::element_of<T>, y.stride, Accumulate::overwrite});
}

template <class T>
void linear_backward_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                           HostMatrix<T> dx) {
    multiply_input(ctx, dy, w, dx, Accumulate::overwrite);
}

template <class T>
void add_linear_backward_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                               HostMatrix<T> dx) {
    multiply_input(ctx, dy, w, dx, Accumulate::add);
}

template <class T>
void add_linear_backward_weight(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> dy,
                                HostMatrix<float> dw) {
    require(x.rows == dy.rows && dw.rows == dy.cols && dw.cols == x.cols,
            "linear weight gradient: shapes differ");
    if (x.rows == 0) return;
    cpu::multiply(ctx, {dy.cols, x.cols, x.rows, cpu::transposed(dy), cpu::factor(x), nullptr,
                        dw.data, cpu::Element::f32, dw.stride, Accumulate::add, weight_method(dy)});
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
