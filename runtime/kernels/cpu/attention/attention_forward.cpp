// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/cpu/attention/attention_blocks.hpp"
#include "runtime/kernels/cpu/attention/attention_tiles.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"

// The algorithm is Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), by
// blocks of keys as in Dao et al., "FlashAttention" (2022).
namespace lockstep::kernels {
namespace {

using namespace cpu;
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

// Turns a block of scores into a block of unnormalised probabilities, and scales the previous sums
// to the new maximum.
template <class C>
void online_softmax(const AttentionTask& task, Mask mask, HeadDropout& dropout, int head_dim,
                    int key_first, int keys, Forward<C>& f) {
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    const int width = extent<C>(head_dim);
    for (int i = 0; i < task.q_count; ++i) {
        float* p = f.scores + i * key_block;
        const int query = task.q_first + i;
        const int visible = mask == Mask::causal ? std::min(keys, query - key_first + 1) : keys;
        const float before = f.maximum[i];
        const float now = std::max(before, rows::maximum(p, visible) * scale);
        const float sum = rows::exponentials(p, visible, keys, scale, now);
        if (key_first > 0) {
            const float correction = std::exp(before - now);
            f.sum[i] = f.sum[i] * correction + sum;
            rows::scale(f.out + i * width, width, correction);
        } else {
            f.sum[i] = sum;
        }
        f.maximum[i] = now;
        if (dropout.active()) {
            dropout.factors(task.row, query, key_first, visible, f.factors);
            rows::multiply(p, f.factors, visible);
        }
        to_factor(p, f.p + i * key_block, rows::round_up(keys));
    }
}

// q, k and v are the columns of one head.
template <class C, class T>
void forward_task(const AttentionTask& task, Mask mask, HeadDropout dropout, HostMatrix<const T> q,
                  HostMatrix<const T> k, HostMatrix<const T> v, MatmulCache& products,
                  Forward<C>& f) {
    const int d = static_cast<int>(q.cols), width = extent<C>(d);
    const int height = extent<C>(task.q_count);
    const Block<C> queries = load(q, task.q_row + task.q_first, task.q_count, f.q);
    std::fill_n(f.maximum, task.q_count, -std::numeric_limits<float>::infinity());
    for (int first = 0; first < task.k_count; first += key_block) {
        const int keys = std::min(key_block, task.k_count - first), columns = extent<C>(keys);
        multiply_blocks(products, height, columns, width, Operand<C>{queries},
                        Operand<C>{load(k, task.k_row + first, keys, f.k), Side::transposed},
                        Into::overwrite, f.scores, key_block);
        online_softmax(task, mask, dropout, d, first, keys, f);
        multiply_blocks(products, height, width, columns, Operand<C>{{f.p, key_block}},
                        Operand<C>{load(v, task.k_row + first, keys, f.v)},
                        first > 0 ? Into::add : Into::overwrite, f.out, width);
    }
}

template <class C, class T>
void forward_head(const AttentionForward<T, HostSpace>& o, const AttentionTask& task, int head,
                  AttentionScratch& scratch) {
    const int d = o.shape.head_dim, width = extent<C>(d);
    const std::int64_t column = std::int64_t{head} * d;
    Forward<C> f(scratch.of_this_thread(), width);
    forward_task<C, T>(task, o.shape.mask, HeadDropout(o.dropout, head), o.q.columns(column, d),
                       o.k.columns(column, d), o.v.columns(column, d),
                       scratch.products_of_this_thread(), f);
    write_attended(o, task, head, {f.out, width, f.maximum, f.sum});
}

template <class C, class T>
void forward_all(CpuContext& ctx, const AttentionForward<T, HostSpace>& operands,
                 AttentionScratch& scratch) {
    scratch.reserve(ctx.threads(), Forward<C>::floats(rows::round_up(operands.shape.head_dim)));
    for_each_head(ctx, scratch.tasks, operands.shape.heads,
                  [&](const AttentionTask& task, int head) {
                      forward_head<C>(operands, task, head, scratch);
                  });
}

}  // namespace

template <class T>
void attention_forward(CpuContext& ctx, const AttentionForward<T, HostSpace>& o) {
    check(o);
    auto& scratch = cached<AttentionScratch>(ctx);
    plan_tasks(o.shape, o.sequences, o.q.rows, o.k.rows, query_block, scratch.tasks);
    if (suits_tiles<T>(o.shape.head_dim))
        forward_by_tiles(ctx, o, scratch);
    else if (multiplies<T>())
        forward_all<T>(ctx, o, scratch);
    else
        forward_all<float>(ctx, o, scratch);
    const std::int64_t real = o.sequences.q_offsets[o.sequences.q_offsets.size() - 1];
    fill_zero_rows(o.out, real, o.out.rows - real);
}

template void attention_forward(CpuContext&, const AttentionForward<float, HostSpace>&);
template void attention_forward(CpuContext&, const AttentionForward<bf16, HostSpace>&);

}  // namespace lockstep::kernels
