// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/attention.hpp"

#include <algorithm>
#include <span>
#include <type_traits>

#include "runtime/kernels/attention_biases.hpp"
#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/cpu/attention/attention_blocks.hpp"
#include "runtime/kernels/cpu/attention/attention_tiles.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"
#include "runtime/kernels/product_library.hpp"

namespace lockstep::kernels {

using namespace cpu;

namespace {

template <class T>
void fill_zero_filler(const AttentionBackward<T, HostSpace>& o) {
    const auto &q_offsets = o.sequences.q_offsets, &k_offsets = o.sequences.k_offsets;
    const std::int64_t q_real = q_offsets[q_offsets.size() - 1];
    const std::int64_t k_real = k_offsets[k_offsets.size() - 1];
    fill_zero_rows(o.dq, q_real, o.dq.rows - q_real);
    fill_zero_rows(o.dk, k_real, o.dk.rows - k_real);
    fill_zero_rows(o.dv, k_real, o.dv.rows - k_real);
}

// Divides the tasks by their methods, and calls by_tiles and by_blocks, which takes the type of its
// factors, for those that there are. The method of a task depends on nothing but its size, so the
// numbers of a sequence do not depend on its batch.
template <class T, class Tiles, class Blocks>
void by_method(const AttentionShape& shape, std::span<AttentionTask> tasks, const Tiles& by_tiles,
               const Blocks& by_blocks) {
    const auto rest = std::partition(tasks.begin(), tasks.end(), [&](const AttentionTask& task) {
        return suits_tiles<T>(shape, task.q_count);
    });
    const std::span tiles(tasks.begin(), rest), blocks(rest, tasks.end());
    if (!tiles.empty()) by_tiles(tiles);
    if (blocks.empty()) return;
    if constexpr (std::is_same_v<T, bf16>) {
        if (multiplies_bf16()) return by_blocks(blocks, bf16());
    }
    by_blocks(blocks, float());
}

// Calculates all gradients; those of keys and values go to `keys`.
template <class T, class G>
void calculate_gradients(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o,
                         const KeyGradients<G>& keys) {
    auto& scratch = cached<AttentionScratch>(ctx);
    plan_tasks(o.shape, o.sequences, o.q.rows, o.k.rows, static_cast<int>(o.q.rows) + 1,
               scratch.tasks);
    by_method<T>(
        o.shape, scratch.tasks,
        [&](std::span<const AttentionTask> tasks) {
            backward_by_tiles(ctx, o, keys, tasks, scratch);
        },
        [&]<class C>(std::span<const AttentionTask> tasks, C) {
            backward_by_blocks<C>(ctx, o, keys, tasks, scratch);
        });
}

// Sums the gradients of heads [rows, heads * head_dim] that share keys, in their order.
template <class T>
void sum_heads(CpuContext& ctx, const AttentionShape& shape, HostMatrix<float> of_heads,
               HostMatrix<T> to) {
    const int shared = shape.heads_per_key(), d = shape.head_dim;
    cpu::parallel_for(ctx, of_heads.rows, of_heads.rows * of_heads.cols, [&](std::int64_t i) {
        float* head = of_heads.data + i * of_heads.stride;
        T* sum = to.data + i * to.stride;
        for (int k = 0; k < shape.key_heads(); ++k, head += shared * d, sum += d) {
            for (int h = 1; h < shared; ++h) rows::add_scaled(head + h * d, 1.0f, head, d);
            rows::convert(head, sum, d);
        }
    });
}

template <class T>
void calculate_gradients_of_shared_keys(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o) {
    const std::int64_t k_real = o.sequences.k_offsets[o.sequences.k_offsets.size() - 1];
    const std::int64_t width = o.shape.q_width();
    const auto memory =
        cpu::scratch<float>(ctx, ScratchMemory::Slot::key_gradients, 2 * k_real * width);
    const KeyGradients<float> keys{{memory.data(), k_real, width},
                                   {memory.data() + k_real * width, k_real, width}};
    calculate_gradients(ctx, o, keys);
    sum_heads(ctx, o.shape, keys.dk, o.dk);
    sum_heads(ctx, o.shape, keys.dv, o.dv);
}

}  // namespace

template <class T>
void attention_forward(CpuContext& ctx, const AttentionForward<T, HostSpace>& o) {
    check(o);
    auto& scratch = cached<AttentionScratch>(ctx);
    plan_tasks(o.shape, o.sequences, o.q.rows, o.k.rows, query_block, scratch.tasks);
    by_method<T>(
        o.shape, scratch.tasks,
        [&](std::span<const AttentionTask> tasks) { forward_by_tiles(ctx, o, tasks, scratch); },
        [&]<class C>(std::span<const AttentionTask> tasks, C) {
            forward_by_blocks<C>(ctx, o, tasks, scratch);
        });
    const std::int64_t real = o.sequences.q_offsets[o.sequences.q_offsets.size() - 1];
    fill_zero_rows(o.out, real, o.out.rows - real);
}

template <class T>
void attention_backward(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o) {
    check(o);
    if (o.shape.heads_per_key() == 1)
        calculate_gradients(ctx, o, KeyGradients<T>{o.dk, o.dv});
    else
        calculate_gradients_of_shared_keys(ctx, o);
    fill_zero_filler(o);
    sum_attention_biases<T>(ctx, o.biases, o.dq, o.dk, o.dv);
}

template void attention_forward(CpuContext&, const AttentionForward<float, HostSpace>&);
template void attention_forward(CpuContext&, const AttentionForward<bf16, HostSpace>&);
template void attention_backward(CpuContext&, const AttentionBackward<float, HostSpace>&);
template void attention_backward(CpuContext&, const AttentionBackward<bf16, HostSpace>&);

}  // namespace lockstep::kernels
