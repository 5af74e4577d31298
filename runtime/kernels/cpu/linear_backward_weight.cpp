// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/cpu/matmul.hpp"
#include "runtime/kernels/cpu/spread_rows.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

using cpu::Method;

// The products read down the columns.
template <class T>
bool collides(HostMatrix<const T> matrix) noexcept {
    constexpr std::int64_t page_bytes = 4096;
    return cpu::rows_collide(matrix, page_bytes);
}

template <class T>
void multiply(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> x, HostMatrix<float> dw,
              Into into, Method method) {
    cpu::multiply(ctx, {dy.cols, x.cols, x.rows, cpu::transposed(dy), cpu::factor(x), nullptr,
                        dw.data, Dtype::fp32, dw.stride, into, method});
}

template <class T>
HostMatrix<const T> spread(CpuContext& ctx, HostMatrix<const T> x, cpu::ScratchMemory::Slot slot) {
    return collides(x) ? cpu::spread_rows(ctx, x, slot) : x;
}

// Processes as many rows at a time as fit the third-level cache with the copies of both factors.
// There are so few passes that reading and writing dw again does not matter.
template <class T>
void multiply_spread(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> x,
                     HostMatrix<float> dw, Into into) {
    using Slot = cpu::ScratchMemory::Slot;
    constexpr std::int64_t most_bytes = std::int64_t{16} << 20;
    const std::int64_t row_bytes = std::max(dy.cols, x.cols) * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t most = std::clamp<std::int64_t>(most_bytes / row_bytes, 64, 1024);
    for (std::int64_t first = 0; first < x.rows; first += most) {
        const std::int64_t rows = std::min(most, x.rows - first);
        multiply(ctx, spread<T>(ctx, dy.rows_from(first, rows), Slot::factor_a),
                 spread<T>(ctx, x.rows_from(first, rows), Slot::factor_b), dw,
                 first == 0 ? into : Into::add, Method::general);
    }
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
    // The first choice for columns of a wider matrix is the general product.
    const bool dense = dy.stride == dy.cols;
    if (collides(dy) && dense && cpu::first_is_not_general())
        return multiply(ctx, dy, x, dw, into, Method::first);
    if (collides(dy) || collides(x)) return multiply_spread(ctx, dy, x, dw, into);
    multiply(ctx, dy, x, dw, into, Method::general);
}

template void linear_backward_weight(CpuContext&, HostMatrix<const float>, HostMatrix<const float>,
                                     HostMatrix<float>, Into);
template void linear_backward_weight(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                                     HostMatrix<float>, Into);

}  // namespace lockstep::kernels
