// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "runtime/kernels/cpu/matmul/matmul.hpp"
#include "runtime/kernels/cpu/matmul/pair_products.hpp"
#include "runtime/kernels/cpu/matmul/spread_rows.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

using cpu::Method;

template <class T>
cpu::Product product_of(HostMatrix<const T> dy, HostMatrix<const T> x, HostMatrix<float> dw,
                        Into into, Method method) noexcept {
    return {dy.cols,        x.cols,  x.rows,  cpu::transposed(dy),
            cpu::factor(x), nullptr, dw.data, Dtype::fp32,
            dw.stride,      into,    method};
}

template <class T>
void multiply_rows(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> x,
                   HostMatrix<float> dw, Into into, Method method) {
    cpu::multiply(ctx, product_of(dy, x, dw, into, method));
}

HostMatrix<const float> spread(CpuContext& ctx, HostMatrix<const float> x,
                               cpu::ScratchMemory::Slot slot) {
    return cpu::rows_collide(x) ? cpu::spread_rows(ctx, x, slot) : x;
}

// Processes as many rows at a time as fit the third-level cache with the copies of both factors.
// There are so few passes that reading and writing dw again does not matter.
void multiply_spread(CpuContext& ctx, HostMatrix<const float> dy, HostMatrix<const float> x,
                     HostMatrix<float> dw, Into into) {
    using Slot = cpu::ScratchMemory::Slot;
    constexpr std::int64_t max_bytes = std::int64_t{16} << 20;
    const std::int64_t row_bytes =
        std::max(dy.cols, x.cols) * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t block = std::clamp<std::int64_t>(max_bytes / row_bytes, 64, 1024);
    for (std::int64_t first = 0; first < x.rows; first += block) {
        const std::int64_t rows = std::min(block, x.rows - first);
        multiply_rows(ctx, spread(ctx, dy.rows_from(first, rows), Slot::factor_a),
                      spread(ctx, x.rows_from(first, rows), Slot::factor_b), dw,
                      first == 0 ? into : Into::add, Method::general);
    }
}

// Multiplies colliding rows in the fastest way: oneDNN reads x and dy column by column. Returns
// false if neither matrix has such rows.
bool multiply_colliding(CpuContext& ctx, HostMatrix<const float> dy, HostMatrix<const float> x,
                        HostMatrix<float> dw, Into into) {
    // If dy is a part of a wider matrix, oneDNN's first choice is the general product.
    const bool dense = dy.stride == dy.cols;
    if (cpu::rows_collide(dy) && dense)
        multiply_rows(ctx, dy, x, dw, into, Method::first);
    else if (cpu::rows_collide(dy) || cpu::rows_collide(x))
        multiply_spread(ctx, dy, x, dw, into);
    else
        return false;
    return true;
}

}  // namespace

template <class T>
void linear_backward_weight(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> dy,
                            HostMatrix<float> dw, Into into) {
    require(x.rows == dy.rows && dw.rows == dy.cols && dw.cols == x.cols,
            "linear weight gradient: shapes differ");
    if (x.rows == 0) {
        if (into == Into::overwrite) fill_zero(ctx, dw);
        return;
    }
    if constexpr (std::is_same_v<T, float>) {
        if (!cpu::packs_factors(product_of(dy, x, dw, into, Method::general)) &&
            multiply_colliding(ctx, dy, x, dw, into))
            return;
    } else {
        if (cpu::weight_gradient_of_pairs(ctx, dy, x, dw, into)) return;
    }
    multiply_rows(ctx, dy, x, dw, into, Method::general);
}

template void linear_backward_weight(CpuContext&, HostMatrix<const float>, HostMatrix<const float>,
                                     HostMatrix<float>, Into);
template void linear_backward_weight(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                                     HostMatrix<float>, Into);

}  // namespace lockstep::kernels
