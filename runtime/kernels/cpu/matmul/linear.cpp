// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear.hpp"

#include <type_traits>

#include "runtime/kernels/cpu/matmul/linear_checks.hpp"
#include "runtime/kernels/cpu/matmul/matmul.hpp"
#include "runtime/kernels/cpu/matmul/pair_products.hpp"
#include "runtime/kernels/cpu/primitives/column_sums.hpp"

namespace lockstep::kernels {

namespace {

using cpu::Method;

// Measurements decide between oneDNN 2.6's products (docs/journal/performance.md). For input
// gradients its first choice is faster with small bf16 weights. It loses up to half its speed if it
// adds to the result or if a plain factor does not stay in the caches.
constexpr std::int64_t second_level_elements = std::int64_t{1} << 19;

template <class T>
Method input_method(HostMatrix<const T> w, Into into) {
    const bool small = std::is_same_v<T, bf16> && w.rows * w.cols <= second_level_elements;
    return small && into == Into::overwrite ? Method::first : Method::general;
}

// A copy of w costs as much as thirty (fp32) to sixty (bf16) rows of the product, and makes the
// product about 10 % faster. GPT-2's 1,024 rows gained nothing, so the limit is above them.
constexpr std::int64_t rows_worth_a_copy = 1280;

Method forward_method(std::int64_t rows) {
    return rows >= rows_worth_a_copy ? Method::packed : Method::first;
}

}  // namespace

template <class T>
void linear_forward(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> w,
                    HostView<const T> bias, HostMatrix<T> y) {
    cpu::check_layer(x, w, bias, y);
    if constexpr (std::is_same_v<T, bf16>) {
        if (cpu::layer_of_pairs(ctx, x, w, bias, {}, y)) return;
    }
    cpu::multiply(ctx, {x.rows, w.rows, w.cols, cpu::factor(x), cpu::transposed(w), bias.data(),
                        y.data, dtype_of<T>, y.stride, Into::overwrite, forward_method(x.rows)});
}

template <class T>
void linear_backward_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                           HostMatrix<T> dx, Into into) {
    require(dy.cols == w.rows && dx.cols == w.cols && dx.rows == dy.rows,
            "linear backward: shapes differ");
    if constexpr (std::is_same_v<T, bf16>) {
        if (cpu::input_gradient_of_pairs(ctx, dy, w, dx, into)) return;
    }
    cpu::multiply(ctx, {dy.rows, w.cols, w.rows, cpu::factor(dy), cpu::factor(w), nullptr, dx.data,
                        dtype_of<T>, dx.stride, into, input_method(w, into)});
}

template <class T>
void bias_backward(CpuContext& ctx, HostMatrix<const T> dy, HostView<float> db, Into into) {
    require(static_cast<std::int64_t>(db.size()) == dy.cols, "bias gradient: sizes differ");
    cpu::column_sums(ctx, dy.rows, dy.cols, db, into, [&](std::int64_t row, float* sums) {
        cpu::add_to_sums(dy.data + row * dy.stride, sums, dy.cols);
    });
}

template void linear_forward(CpuContext&, HostMatrix<const float>, HostMatrix<const float>,
                             HostView<const float>, HostMatrix<float>);
template void linear_forward(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                             HostView<const bf16>, HostMatrix<bf16>);
template void linear_backward_input(CpuContext&, HostMatrix<const float>, HostMatrix<const float>,
                                    HostMatrix<float>, Into);
template void linear_backward_input(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                                    HostMatrix<bf16>, Into);
template void bias_backward(CpuContext&, HostMatrix<const float>, HostView<float>, Into);
template void bias_backward(CpuContext&, HostMatrix<const bf16>, HostView<float>, Into);

}  // namespace lockstep::kernels
