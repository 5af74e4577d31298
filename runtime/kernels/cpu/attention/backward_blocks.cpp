// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "runtime/kernels/cpu/attention/attention_blocks.hpp"

// P = exp(S - lse); with dropout factors M and delta = rowsum(dO * O):
// dV = (P M)^T dO;  dS = P (M dO V^T - delta) scale;  dQ = dS K;  dK = dS^T Q.
namespace lockstep::kernels::cpu {

namespace {

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
template <class C, class T, class G>
struct BackwardBlocks {
    const AttentionTask& task;
    BackwardHead<T, G> head;
    MatmulCache& products;
    Backward<C> b;

    int width() const { return extent<C>(head.dim()); }

    void run() {
        std::fill_n(b.dq, static_cast<std::size_t>(rows::round_up(task.q_count)) * width(), 0.0f);
        for (int i = 0; i < task.q_count; ++i) {
            b.delta[i] =
                rows::dot(head.out.data + (task.q_row + i) * head.out.stride,
                          head.d_out.data + (task.q_row + i) * head.d_out.stride, head.dim());
        }
        for (int first = 0; first < task.k_count; first += key_block) {
            key_range(first, std::min(key_block, task.k_count - first));
        }
        store(b.dq, width(), head.dq, task.q_row, task.q_count);
    }

    void key_range(int key_first, int keys) {
        const Block<C> key = load(head.k, task.k_row + key_first, keys, b.k);
        const Block<C> value = load(head.v, task.k_row + key_first, keys, b.v);
        std::fill_n(b.dk, rows::round_up(keys) * width(), 0.0f);
        std::fill_n(b.dv, rows::round_up(keys) * width(), 0.0f);
        const int end = end_of_queries(head.window, task.q_count, key_first + keys);
        for (int first = head.mask == Mask::causal ? key_first : 0; first < end;
             first += query_block) {
            const int count = std::min(query_block, end - first);
            pair(first, count, key_first,
                 visible_keys(head.mask, first + count - 1, key_first, keys), key, value);
        }
        store(b.dk, width(), head.dk, task.k_row + key_first, keys);
        store(b.dv, width(), head.dv, task.k_row + key_first, keys);
    }

    // Computes a block of queries against the first `keys` keys of a block.
    void pair(int first, int count, int key_first, int keys, Block<C> key, Block<C> value) {
        const int height = extent<C>(count), columns = extent<C>(keys), d = width();
        const Block<C> query = load(head.q, task.q_row + first, count, b.q);
        const Block<C> g = load(head.d_out, task.q_row + first, count, b.d_out);
        multiply_blocks(products, height, columns, d, Operand<C>{query},
                        Operand<C>{key, Side::transposed}, Into::overwrite, b.p_rows, key_block);
        multiply_blocks(products, height, columns, d, Operand<C>{g},
                        Operand<C>{value, Side::transposed}, Into::overwrite, b.ds_rows, key_block);
        for (int i = 0; i < count; ++i) softmax_row(first + i, i, key_first, keys);
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
    void softmax_row(int position, int i, int key_first, int keys) {
        float *p = b.p_rows + i * key_block, *ds = b.ds_rows + i * key_block;
        const int columns = extent<C>(keys);
        const int visible = visible_keys(head.mask, position, key_first, keys);
        const int hidden = hidden_keys(head.window, position, key_first, keys);
        const float scale = score_scale(head.dim());
        std::fill_n(p, hidden, -std::numeric_limits<float>::infinity());
        rows::exponentials(p, visible, keys, scale, head.log_sum_exp[task.q_row + position]);
        if (head.dropout.active())
            head.dropout.factors(task.row, position, key_first, columns, b.factors);
        rows::softmax_backward(p, ds, head.dropout.active() ? b.factors : nullptr, columns,
                               b.delta[position], scale);
        to_factor(p, b.p + i * key_block, columns);
        to_factor(ds, b.ds + i * key_block, columns);
    }
};

}  // namespace

template <class C, class T, class G>
void backward_by_blocks(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o,
                        const KeyGradients<G>& keys, std::span<const AttentionTask> tasks,
                        AttentionScratch& scratch) {
    const int width = extent<C>(o.shape.head_dim), longest = longest_task(tasks);
    scratch.reserve(ctx.threads(), Backward<C>::floats(width, longest));
    // All threads, because a product of oneDNN would start others outside of a parallel region.
    for_each_head(ctx.threads(), tasks, o.shape.heads, [&](const AttentionTask& task, int head) {
        BackwardBlocks<C, T, G>{task, BackwardHead<T, G>(o, keys, head),
                                scratch.products_of_this_thread(),
                                Backward<C>(scratch.of_this_thread(), width, longest)}
            .run();
    });
}

template void backward_by_blocks<float>(CpuContext&, const AttentionBackward<float, HostSpace>&,
                                        const KeyGradients<float>&, std::span<const AttentionTask>,
                                        AttentionScratch&);
template void backward_by_blocks<float>(CpuContext&, const AttentionBackward<bf16, HostSpace>&,
                                        const KeyGradients<bf16>&, std::span<const AttentionTask>,
                                        AttentionScratch&);
template void backward_by_blocks<float>(CpuContext&, const AttentionBackward<bf16, HostSpace>&,
                                        const KeyGradients<float>&, std::span<const AttentionTask>,
                                        AttentionScratch&);
template void backward_by_blocks<bf16>(CpuContext&, const AttentionBackward<bf16, HostSpace>&,
                                       const KeyGradients<bf16>&, std::span<const AttentionTask>,
                                       AttentionScratch&);
template void backward_by_blocks<bf16>(CpuContext&, const AttentionBackward<bf16, HostSpace>&,
                                       const KeyGradients<float>&, std::span<const AttentionTask>,
                                       AttentionScratch&);

}  // namespace lockstep::kernels::cpu
