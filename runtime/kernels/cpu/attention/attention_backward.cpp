// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <type_traits>

#include "runtime/kernels/attention_biases.hpp"
#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/cpu/attention/attention_blocks.hpp"
#include "runtime/kernels/cpu/attention/attention_tiles.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"

// P = exp(S - lse); with dropout factors M and delta = rowsum(dO * O):
// dV = (P M)^T dO;  dS = P (M dO V^T - delta) scale;  dQ = dS K;  dK = dS^T Q.
namespace lockstep::kernels {
namespace {

using namespace cpu;
// Arrays of one thread. dq and delta are of a whole sequence, as its blocks of keys all add to
// them. The factors p and ds are where the floats are when products are of floats.
template <class C>
struct Backward {
    Backward(float* memory, int width, int longest) : carver(memory) {
        q = carver.template take_factor<C>(std::size_t{query_block} * width);
        d_out = carver.template take_factor<C>(std::size_t{query_block} * width);
        k = carver.template take_factor<C>(std::size_t{key_block} * width);
        v = carver.template take_factor<C>(std::size_t{key_block} * width);
        dk = carver.take(std::size_t{key_block} * width);
        dv = carver.take(std::size_t{key_block} * width);
        p_rows = carver.take(std::size_t{query_block} * key_block);
        ds_rows = carver.take(std::size_t{query_block} * key_block);
        if constexpr (std::is_same_v<C, float>) {
            p = p_rows;
            ds = ds_rows;
        } else {
            p = carver.template take_factor<C>(std::size_t{query_block} * key_block);
            ds = carver.template take_factor<C>(std::size_t{query_block} * key_block);
        }
        factors = carver.take(key_block);
        delta = carver.take(longest);
        dq = carver.take(static_cast<std::size_t>(rows::round_up(longest)) * width);
    }
    static std::size_t floats(int width, int longest) {
        return std::size_t{query_block} * width * 2 + std::size_t{key_block} * width * 4 +
               std::size_t{query_block} * key_block * 4 + key_block + Carver::rounded(longest) +
               static_cast<std::size_t>(rows::round_up(longest)) * width;
    }
    Carver carver;
    C *q, *d_out, *k, *v, *p, *ds;
    float *dk, *dv, *p_rows, *ds_rows, *factors, *delta, *dq;
};

// A thread computes a whole head of a sequence, so the order of every sum is fixed.
template <class C, class T>
struct Head {
    HostMatrix<const T> q, k, v, out, d_out;
    HostMatrix<T> dq, dk, dv;
    const float* log_sum_exp;
    Mask mask;
    float scale;
    HeadDropout dropout;
    MatmulCache& products;
    Backward<C> b;

    int dim() const { return static_cast<int>(q.cols); }
    int width() const { return extent<C>(dim()); }

    void run(const AttentionTask& task) {
        std::fill_n(b.dq, static_cast<std::size_t>(rows::round_up(task.q_count)) * width(), 0.0f);
        for (int i = 0; i < task.q_count; ++i) {
            b.delta[i] = rows::dot(out.data + (task.q_row + i) * out.stride,
                                   d_out.data + (task.q_row + i) * d_out.stride, dim());
        }
        for (int first = 0; first < task.k_count; first += key_block) {
            key_range(task, first, std::min(key_block, task.k_count - first));
        }
        store(b.dq, width(), dq, task.q_row, task.q_count);
    }

    void key_range(const AttentionTask& task, int key_first, int keys) {
        const Block<C> key = load(k, task.k_row + key_first, keys, b.k);
        const Block<C> value = load(v, task.k_row + key_first, keys, b.v);
        std::fill_n(b.dk, rows::round_up(keys) * width(), 0.0f);
        std::fill_n(b.dv, rows::round_up(keys) * width(), 0.0f);
        for (int first = mask == Mask::causal ? key_first : 0; first < task.q_count;
             first += query_block) {
            const int count = std::min(query_block, task.q_count - first);
            const int last = mask == Mask::causal ? first + count - key_first : keys;
            pair(task, first, count, key_first, std::min(keys, last), key, value);
        }
        store(b.dk, width(), dk, task.k_row + key_first, keys);
        store(b.dv, width(), dv, task.k_row + key_first, keys);
    }

    // Computes a block of queries against the first `keys` keys of a block.
    void pair(const AttentionTask& task, int first, int count, int key_first, int keys,
              Block<C> key, Block<C> value) {
        const int height = extent<C>(count), columns = extent<C>(keys), d = width();
        const Block<C> query = load(q, task.q_row + first, count, b.q);
        const Block<C> g = load(d_out, task.q_row + first, count, b.d_out);
        multiply_blocks(products, height, columns, d, Operand<C>{query},
                        Operand<C>{key, Side::transposed}, Into::overwrite, b.p_rows, key_block);
        multiply_blocks(products, height, columns, d, Operand<C>{g},
                        Operand<C>{value, Side::transposed}, Into::overwrite, b.ds_rows, key_block);
        for (int i = 0; i < count; ++i) softmax_row(task, first + i, i, key_first, keys);
        std::fill_n(b.p + count * key_block, (height - count) * key_block, C{});
        std::fill_n(b.ds + count * key_block, (height - count) * key_block, C{});
        const Block<C> p{b.p, key_block}, ds{b.ds, key_block};
        multiply_blocks(products, columns, d, height, Operand<C>{p, Side::transposed},
                        Operand<C>{g}, Into::add, b.dv, d);
        multiply_blocks(products, height, d, columns, Operand<C>{ds}, Operand<C>{key}, Into::add,
                        b.dq + std::int64_t{first} * d, d);
        multiply_blocks(products, columns, d, height, Operand<C>{ds, Side::transposed},
                        Operand<C>{query}, Into::add, b.dk, d);
    }

    // Row i of the block, query `position` of the sequence: from S and dO V^T to P M and dS.
    void softmax_row(const AttentionTask& task, int position, int i, int key_first, int keys) {
        float *p = b.p_rows + i * key_block, *ds = b.ds_rows + i * key_block;
        const int columns = extent<C>(keys);
        const int visible = mask == Mask::causal ? std::min(keys, position - key_first + 1) : keys;
        rows::exponentials(p, visible, keys, scale, log_sum_exp[task.q_row + position]);
        if (dropout.active()) dropout.factors(task.row, position, key_first, columns, b.factors);
        rows::softmax_backward(p, ds, dropout.active() ? b.factors : nullptr, columns,
                               b.delta[position], scale);
        to_factor(p, b.p + i * key_block, columns);
        to_factor(ds, b.ds + i * key_block, columns);
    }
};

template <class T>
void fill_zero_filler(const AttentionBackward<T, HostSpace>& o) {
    const auto &q_offsets = o.sequences.q_offsets, &k_offsets = o.sequences.k_offsets;
    const std::int64_t q_real = q_offsets[q_offsets.size() - 1];
    const std::int64_t k_real = k_offsets[k_offsets.size() - 1];
    fill_zero_rows(o.dq, q_real, o.dq.rows - q_real);
    fill_zero_rows(o.dk, k_real, o.dk.rows - k_real);
    fill_zero_rows(o.dv, k_real, o.dv.rows - k_real);
}

template <class C, class T>
void backward_all(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o,
                  AttentionScratch& scratch) {
    const int d = o.shape.head_dim, width = extent<C>(d);
    int longest = 0;
    for (const AttentionTask& task : scratch.tasks) longest = std::max(longest, task.q_count);
    scratch.reserve(ctx.threads(), Backward<C>::floats(width, longest));
    for_each_head(ctx, scratch.tasks, o.shape.heads, [&](const AttentionTask& task, int head) {
        const std::int64_t c = std::int64_t{head} * d;
        Head<C, T>{o.q.columns(c, d),
                   o.k.columns(c, d),
                   o.v.columns(c, d),
                   o.out.columns(c, d),
                   o.d_out.columns(c, d),
                   o.dq.columns(c, d),
                   o.dk.columns(c, d),
                   o.dv.columns(c, d),
                   o.log_sum_exp.data() + head * o.q.rows,
                   o.shape.mask,
                   1.0f / std::sqrt(static_cast<float>(d)),
                   HeadDropout(o.dropout, head),
                   scratch.products_of_this_thread(),
                   Backward<C>(scratch.of_this_thread(), width, longest)}
            .run(task);
    });
}

}  // namespace

template <class T>
void attention_backward(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o) {
    check(o);
    auto& scratch = cached<AttentionScratch>(ctx);
    plan_tasks(o.shape, o.sequences, o.q.rows, o.k.rows, static_cast<int>(o.q.rows) + 1,
               scratch.tasks);
    if (suits_tiles<T>(o.shape.head_dim))
        backward_by_tiles(ctx, o, scratch);
    else if (multiplies<T>())
        backward_all<T>(ctx, o, scratch);
    else
        backward_all<float>(ctx, o, scratch);
    fill_zero_filler(o);
    sum_attention_biases<T>(ctx, o.biases, o.dq, o.dk, o.dv);
}

template void attention_backward(CpuContext&, const AttentionBackward<float, HostSpace>&);
template void attention_backward(CpuContext&, const AttentionBackward<bf16, HostSpace>&);

}  // namespace lockstep::kernels
