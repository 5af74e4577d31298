// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/embedding.hpp"

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/embedding_checks.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

template <class T>
[[gnu::always_inline]] inline void sum_row(const T* token, float scale, const T* position, T* y,
                                           std::int64_t d) {
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j)
        cpu::store(y[j], scale * cpu::load(token[j]) + cpu::load(position[j]));
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void forward_row(
    const float* token, float scale, const float* position, float* y, std::int64_t d) {
    sum_row(token, scale, position, y, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void forward_row(
    const bf16* token, float scale, const bf16* position, bf16* y, std::int64_t d) {
    sum_row(token, scale, position, y, d);
}

template <class T>
[[gnu::always_inline]] inline void add_scaled(const T* dy, float scale, float* sum,
                                              std::int64_t d) {
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j) sum[j] += scale * cpu::load(dy[j]);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void backward_row(
    const float* dy, float scale, float* sum, std::int64_t d) {
    add_scaled(dy, scale, sum, d);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void backward_row(
    const bf16* dy, float scale, float* sum, std::int64_t d) {
    add_scaled(dy, scale, sum, d);
}

bool all_below(HostView<const std::int32_t> ids, std::int64_t real, std::int64_t limit) {
    bool below = true;
    for (std::int64_t i = 0; i < real; ++i) {
        const std::int32_t id = ids[static_cast<std::size_t>(i)];
        below = below && id >= 0 && id < limit;
    }
    return below;
}

}  // namespace

template <class T>
void embedding_forward(CpuContext& ctx, const EmbeddingForward<T, HostSpace>& o) {
    check(o);
    const std::int64_t real = o.real[0];
    require(real >= 0 && real <= o.y.rows, "embedding: more real tokens than rows");
    require(all_below(o.tokens, real, o.table.rows), "embedding: a token is not in the table");
    require(all_below(o.positions, real, o.position_table.rows),
            "embedding: a position is not in the table");
    cpu::parallel_for(ctx, o.y.rows, o.y.rows * o.y.cols, [&](std::int64_t i) {
        T* to = o.y.data + i * o.y.stride;
        if (i >= real) {
            std::fill_n(to, o.y.cols, T{});
            return;
        }
        const auto at = static_cast<std::size_t>(i);
        forward_row(o.table.data + o.tokens[at] * o.table.stride, o.scale,
                    o.position_table.data + o.positions[at] * o.position_table.stride, to,
                    o.y.cols);
    });
}

// Each thread owns strips of columns and goes through the tokens in order: no two threads write to
// the same elements, and the sums do not depend on the number of threads.
template <class T>
void embedding_backward(CpuContext& ctx, const EmbeddingBackward<T, HostSpace>& o) {
    check(o);
    const std::int64_t real = o.real[0];
    require(real >= 0 && real <= o.dy.rows, "embedding gradient: shapes differ");
    const auto ids = o.slots.empty() ? o.d_table.rows : static_cast<std::int64_t>(o.slots.size());
    require(all_below(o.tokens, real, ids), "embedding gradient: a token is not in the table");
    const auto row_of = [&](std::int64_t i) {
        const std::int32_t token = o.tokens[static_cast<std::size_t>(i)];
        return o.slots.empty() ? token : o.slots[static_cast<std::size_t>(token)];
    };
    for (std::int64_t i = 0; i < real; ++i)
        require(row_of(i) >= 0 && row_of(i) < o.d_table.rows,
                "embedding gradient: a token has no slot in the table");
    if (o.into == Into::overwrite) fill_zero(ctx, o.d_table);
    constexpr std::int64_t strip = 64;
    cpu::parallel_blocks(ctx, o.dy.cols, strip, real * o.dy.cols,
                         [&](std::int64_t, std::int64_t first, std::int64_t count) {
                             for (std::int64_t i = 0; i < real; ++i) {
                                 const std::int64_t row = row_of(i);
                                 backward_row(o.dy.data + i * o.dy.stride + first, o.scale,
                                              o.d_table.data + row * o.d_table.stride + first,
                                              count);
                             }
                         });
}

template <class T>
void position_backward(CpuContext& ctx, HostView<const std::int32_t> offsets,
                       HostMatrix<const T> dy, HostMatrix<float> d_table, Into into) {
    require(!offsets.empty() && d_table.cols == dy.cols, "position gradient: shapes differ");
    const auto limit = d_table.rows;
    for (std::size_t s = 1; s < offsets.size(); ++s)
        require(offsets[s] - offsets[s - 1] <= limit, "position gradient: a row is too long");
    if (into == Into::overwrite) fill_zero(ctx, d_table);
    cpu::parallel_for(ctx, limit, offsets[offsets.size() - 1] * dy.cols, [&](std::int64_t p) {
        for (std::size_t s = 1; s < offsets.size(); ++s) {
            const std::int64_t row = offsets[s - 1] + p;
            if (row < offsets[s])
                backward_row(dy.data + row * dy.stride, 1.0f, d_table.data + p * d_table.stride,
                             dy.cols);
        }
    });
}

template void embedding_forward(CpuContext&, const EmbeddingForward<float, HostSpace>&);
template void embedding_forward(CpuContext&, const EmbeddingForward<bf16, HostSpace>&);
template void embedding_backward(CpuContext&, const EmbeddingBackward<float, HostSpace>&);
template void embedding_backward(CpuContext&, const EmbeddingBackward<bf16, HostSpace>&);
template void position_backward(CpuContext&, HostView<const std::int32_t>, HostMatrix<const float>,
                                HostMatrix<float>, Into);
template void position_backward(CpuContext&, HostView<const std::int32_t>, HostMatrix<const bf16>,
                                HostMatrix<float>, Into);

}  // namespace lockstep::kernels
