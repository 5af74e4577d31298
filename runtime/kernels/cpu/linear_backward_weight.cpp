// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <type_traits>

#include "runtime/kernels/cpu/matmul.hpp"
#include "runtime/kernels/cpu/parallel.hpp"
#include "runtime/kernels/cpu/scratch.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

using cpu::Method;

constexpr std::int64_t line_bytes = 64, page_bytes = 4096;

// The products read down the columns. If rows of floats are a power of two of pages apart, all
// elements of a column map to the same few cache sets.
template <class T>
bool collides(HostMatrix<const T> matrix) noexcept {
    const std::int64_t bytes = matrix.stride * static_cast<std::int64_t>(sizeof(T));
    return std::is_same_v<T, float> && bytes % page_bytes == 0 &&
           std::has_single_bit(static_cast<std::uint64_t>(bytes));
}

template <class T>
void multiply(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> x, HostMatrix<float> dw,
              Into into, Method method) {
    cpu::multiply(ctx, {dy.cols, x.cols, x.rows, cpu::transposed(dy), cpu::factor(x), nullptr,
                        dw.data, Dtype::fp32, dw.stride, into, method});
}

// Copies rows that collide so that they are one cache line further apart.
template <class T>
HostMatrix<const T> spread(CpuContext& ctx, HostMatrix<const T> x, cpu::ScratchMemory::Slot slot) {
    if (!collides(x)) return x;
    const std::int64_t stride = x.cols + line_bytes / static_cast<std::int64_t>(sizeof(T));
    const auto copy = cpu::scratch<T>(ctx, slot, x.rows * stride).data();
    constexpr std::int64_t block_rows = 32;
    cpu::parallel_blocks(ctx, x.rows, block_rows, x.rows * x.cols,
                         [&](std::int64_t, std::int64_t first, std::int64_t count) {
                             for (std::int64_t i = first; i < first + count; ++i)
                                 std::copy_n(x.data + i * x.stride, x.cols, copy + i * stride);
                         });
    return {copy, x.rows, x.cols, stride};
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
    if (collides(dy) && cpu::first_is_not_general())
        return multiply(ctx, dy, x, dw, into, Method::first);
    if (collides(dy) || collides(x)) return multiply_spread(ctx, dy, x, dw, into);
    multiply(ctx, dy, x, dw, into, Method::general);
}

template void linear_backward_weight(CpuContext&, HostMatrix<const float>, HostMatrix<const float>,
                                     HostMatrix<float>, Into);
template void linear_backward_weight(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                                     HostMatrix<float>, Into);

}  // namespace lockstep::kernels
