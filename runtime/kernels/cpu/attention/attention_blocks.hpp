// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/cpu/attention/attention_tasks.hpp"

// Attention by oneDNN's products of blocks. A block of scores fits a core's second-level cache.
namespace lockstep::kernels::cpu {

// A factor of a product; its rows are `stride` elements apart. C is the type that products are
// computed from: float, or bf16 if the processor multiplies bf16.
template <class C>
struct Block {
    const C* data;
    std::int64_t stride;
};

// Returns how many rows or columns a product uses for n. oneDNN generates code for each bf16 shape,
// so bf16 lengths are rounded up and filled with zeros to share a few shapes.
template <class C>
int extent(int n) noexcept {
    return std::is_same_v<C, float> ? n : rows::round_up(n);
}

// Returns `count` rows of a head's columns as a factor: a view of m if T is float, otherwise a copy
// in `room`.
template <class C, class T>
Block<C> load(HostMatrix<const T> m, std::int64_t first, int count, C* room) {
    if constexpr (std::is_same_v<T, float>) return {m.data + first * m.stride, m.stride};
    const int cols = static_cast<int>(m.cols), stride = extent<C>(cols);
    for (int i = 0; i < count; ++i) {
        C* row = room + std::int64_t{i} * stride;
        rows::convert(m.data + (first + i) * m.stride, row, cols);
        std::fill(row + cols, row + stride, C{});
    }
    std::fill_n(room + std::int64_t{count} * stride, (extent<C>(count) - count) * stride, C{});
    return {room, stride};
}

// Converts rows of scores to a factor. Floats need no conversion.
inline void to_factor(const float* scores, bf16* factor, int columns) {
    rows::convert(scores, factor, columns);
}
inline void to_factor(const float*, float*, int) {}

enum class Side { plain, transposed };

template <class C>
struct Operand {
    Block<C> block;
    Side side = Side::plain;
};

// Computes c [m, n] = a b or c += a b, where a is [m, k] and b is [k, n] after transposition. Rows
// of c are c_stride apart. oneDNN runs the product on the calling thread alone, inside a parallel
// region.
void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<bf16> a, Operand<bf16> b,
                     Into into, float* c, std::int64_t c_stride);
void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<float> a, Operand<float> b,
                     Into into, float* c, std::int64_t c_stride);

// These do the work of attention_forward() and attention_backward() for the tasks in `scratch`,
// with factors of type C. Backward takes whole sequences as tasks, and writes the gradients of keys
// and values to `keys`.
template <class C, class T>
void forward_by_blocks(CpuContext& ctx, const AttentionForward<T, HostSpace>& operands,
                       std::span<const AttentionTask> tasks, AttentionScratch& scratch);
template <class C, class T, class G>
void backward_by_blocks(CpuContext& ctx, const AttentionBackward<T, HostSpace>& operands,
                        const KeyGradients<G>& keys, std::span<const AttentionTask> tasks,
                        AttentionScratch& scratch);

}  // namespace lockstep::kernels::cpu
