// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/cpu/attention/attention_blocks.hpp"

// The algorithm is Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), by
// blocks of keys as in Dao et al., "FlashAttention" (2022).
namespace lockstep::kernels::cpu {

namespace {

// Arrays of one thread. If C is float, p is the same memory as scores.
template <class C>
struct Forward {
    Forward(float* memory, int width) : carver(memory) {
        q = carver.template take_factor<C>(std::size_t{query_block} * width);
        k = carver.template take_factor<C>(std::size_t{key_block} * width);
        v = carver.template take_factor<C>(std::size_t{key_block} * width);
        out = carver.take(std::size_t{query_block} * width);
        scores = carver.take(std::size_t{query_block} * key_block);
        if constexpr (std::is_same_v<C, float>)
            p = scores;
        else
            p = carver.template take_factor<C>(std::size_t{query_block} * key_block);
        factors = carver.take(key_block);
        maximum = carver.take(query_block);
        sum = carver.take(query_block);
    }
    static std::size_t floats(int width) {
        return std::size_t{query_block} * width * 2 + std::size_t{key_block} * width * 2 +
               std::size_t{query_block} * key_block * 2 + key_block + 2 * query_block;
    }
    Carver carver;
    C *q, *k, *v, *p;
    float *out, *scores, *factors, *maximum, *sum;
};

// A head of some queries of a sequence.
template <class C, class T>
struct ForwardBlocks {
    const AttentionTask& task;
    ForwardHead<T> head;
    MatmulCache& products;
    Forward<C> f;

    int width() const { return extent<C>(head.dim()); }

    void run() {
        const int height = extent<C>(task.q_count);
        const Block<C> queries = load(head.q, task.q_row + task.q_first, task.q_count, f.q);
        std::fill_n(f.maximum, task.q_count, -std::numeric_limits<float>::infinity());
        const int begin = first_key_block(head.window, task.q_first);
        for (int first = begin; first < task.k_count; first += key_block) {
            const int keys = std::min(key_block, task.k_count - first), columns = extent<C>(keys);
            const std::int64_t row = task.k_row + first;
            multiply_blocks(products, height, columns, width(), Operand<C>{queries},
                            Operand<C>{load(head.k, row, keys, f.k), Side::transposed},
                            Into::overwrite, f.scores, key_block);
            const Into into = first > begin ? Into::add : Into::overwrite;
            for (int i = 0; i < task.q_count; ++i) softmax_row(i, first, keys, into);
            multiply_blocks(products, height, width(), columns, Operand<C>{{f.p, key_block}},
                            Operand<C>{load(head.v, row, keys, f.v)}, into, f.out, width());
        }
    }

    // Turns row i of a block of scores into unnormalised probabilities, and scales the previous
    // sums to the new maximum. `into` says whether there are previous ones.
    void softmax_row(int i, int key_first, int keys, Into into) {
        const float scale = score_scale(head.dim());
        float* const p = f.scores + i * key_block;
        const int query = task.q_first + i;
        const int visible = visible_keys(head.mask, query, key_first, keys);
        const int hidden = hidden_keys(head.window, query, key_first, keys);
        if (visible <= hidden) return see_nothing(i, keys, into);
        std::fill_n(p, hidden, -std::numeric_limits<float>::infinity());
        const float before = f.maximum[i];
        const float now = std::max(before, rows::maximum(p, visible) * scale);
        const float sum = rows::exponentials(p, visible, keys, scale, now);
        if (into == Into::add) {
            const float correction = std::exp(before - now);
            f.sum[i] = f.sum[i] * correction + sum;
            rows::scale(f.out + i * width(), width(), correction);
        } else {
            f.sum[i] = sum;
        }
        f.maximum[i] = now;
        if (head.dropout.active()) {
            head.dropout.factors(task.row, query, key_first, visible, f.factors);
            rows::multiply(p, f.factors, visible);
        }
        to_factor(p, f.p + i * key_block, rows::round_up(keys));
    }

    // Row i of a block of which the query sees no key.
    void see_nothing(int i, int keys, Into into) {
        if (into == Into::overwrite) f.sum[i] = 0;
        std::fill_n(f.p + i * key_block, rows::round_up(keys), C{});
    }
};

}  // namespace

template <class C, class T>
void forward_by_blocks(CpuContext& ctx, const AttentionForward<T, HostSpace>& o,
                       std::span<const AttentionTask> tasks, AttentionScratch& scratch) {
    const int width = extent<C>(o.shape.head_dim);
    scratch.reserve(ctx.threads(), Forward<C>::floats(width));
    // All threads, because a product of oneDNN would start others outside of a parallel region.
    for_each_head(ctx.threads(), tasks, o.shape.heads, [&](const AttentionTask& task, int head) {
        if (task.q_count == 0) return;
        ForwardBlocks<C, T> forward{task, ForwardHead<T>(o, head),
                                    scratch.products_of_this_thread(),
                                    Forward<C>(scratch.of_this_thread(), width)};
        forward.run();
        write_attended(o, task, head, {forward.f.out, width, forward.f.maximum, forward.f.sum});
    });
}

template void forward_by_blocks<float>(CpuContext&, const AttentionForward<float, HostSpace>&,
                                       std::span<const AttentionTask>, AttentionScratch&);
template void forward_by_blocks<float>(CpuContext&, const AttentionForward<bf16, HostSpace>&,
                                       std::span<const AttentionTask>, AttentionScratch&);
template void forward_by_blocks<bf16>(CpuContext&, const AttentionForward<bf16, HostSpace>&,
                                      std::span<const AttentionTask>, AttentionScratch&);

}  // namespace lockstep::kernels::cpu
