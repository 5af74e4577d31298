// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "runtime/kernels/cpu/attention/attention_tiles.hpp"
#include "runtime/kernels/cpu/attention/softmax_tile.hpp"

// The algorithm is that of attention_forward.cpp, for a few rows of queries at a time, so that
// their scores stay in the first-level cache.
namespace lockstep::kernels::cpu {

namespace {

constexpr int group_rows = 32;
constexpr std::size_t group_scores = std::size_t{group_rows} * score_stride;

// Arrays of one thread. If T is float, p is the same memory as scores.
template <class T>
struct ForwardArrays {
    ForwardArrays(float* memory, int head_dim) : carver(memory) {
        keys = carver.template take_factor<T>(key_block * padded_columns(head_dim));
        values = carver.template take_factor<T>(key_block * padded_columns(head_dim));
        out = carver.take(query_block * padded_columns(head_dim));
        scores = carver.take(group_scores);
        if constexpr (std::is_same_v<T, float>)
            p = scores;
        else
            p = carver.template take_factor<T>(group_scores);
        factors = carver.take(key_block);
        maximum = carver.take(query_block);
        sum = carver.take(query_block);
    }
    static std::size_t floats(int head_dim) {
        const std::size_t factors = 2 * key_block * padded_columns(head_dim);
        return factors / word_elements<T> + query_block * padded_columns(head_dim) +
               2 * group_scores + key_block + 2 * query_block;
    }
    Carver carver;
    T *keys, *values, *p;  // keys and values are panels
    float *out, *scores, *factors, *maximum, *sum;
};

// A head of some queries of a sequence. The matrices are the head's columns.
template <class T>
struct HeadForward {
    const AttentionTask& task;
    Mask mask;
    HeadDropout dropout;
    HostMatrix<const T> q, k, v;
    ForwardArrays<T> a;

    int head_dim() const { return static_cast<int>(q.cols); }
    int width() const { return static_cast<int>(padded_columns(head_dim())); }

    // Returns how many of a block's keys query i of the task sees.
    int visible(int i, int key_first, int keys) const {
        return mask == Mask::causal ? std::min(keys, task.q_first + i - key_first + 1) : keys;
    }

    void run() {
        std::fill_n(a.maximum, task.q_count, -std::numeric_limits<float>::infinity());
        for (int first = 0; first < task.k_count; first += key_block) {
            const int keys = std::min(key_block, task.k_count - first);
            pack_transposed(k.rows_from(task.k_row + first, keys), a.keys);
            pack_panels(v.rows_from(task.k_row + first, keys), a.values);
            for (int i = 0; i < task.q_count; i += group_rows)
                group(i, std::min(group_rows, task.q_count - i), first, keys);
        }
    }

    void group(int first, int count, int key_first, int keys) {
        const int seen = visible(first + count - 1, key_first, keys);
        for (int j = 0; j < seen; j += panel_columns)
            multiply_keys(first, count, key_first, keys, j);
        for (int i = 0; i < count; ++i) softmax_row(first + i, i, key_first, keys, seen);
        for (int j = 0; j < head_dim(); j += panel_columns)
            multiply_values(first, count, key_first, keys, j);
    }

    // Calculates the scores of a group for the keys from j on in a panel.
    void multiply_keys(int first, int count, int key_first, int keys, int j) {
        const int columns = tile_columns(keys - j);
        const int step = static_cast<int>(rows_of_tile(columns));
        const T* const panel = a.keys + j / panel_columns * panel_elements<T>(head_dim());
        for (int i = 0; i < count; i += step) {
            const int tile_count = std::min(step, count - i);
            if (visible(first + i + tile_count - 1, key_first, keys) <= j) continue;
            const T* const query = q.data + (task.q_row + task.q_first + first + i) * q.stride;
            multiply_tile(RowTile<T>{query, q.stride, panel, words_of<T>(head_dim())},
                          HostMatrix<float>(a.scores + i * score_stride + j, tile_count, columns,
                                            score_stride),
                          Into::overwrite);
        }
    }

    // Adds a group's probabilities times the columns from j on in a panel of the values.
    void multiply_values(int first, int count, int key_first, int keys, int j) {
        const int columns = tile_columns(head_dim() - j);
        const int step = static_cast<int>(rows_of_tile(columns));
        const T* const panel = a.values + j / panel_columns * panel_elements<T>(keys);
        for (int i = 0; i < count; i += step) {
            const int tile_count = std::min(step, count - i);
            const int seen = visible(first + i + tile_count - 1, key_first, keys);
            multiply_tile(
                RowTile<T>{a.p + i * score_stride, score_stride, panel, words_of<T>(seen)},
                HostMatrix<float>(a.out + (first + i) * width() + j, tile_count, columns, width()),
                key_first > 0 ? Into::add : Into::overwrite);
        }
    }

    // Turns row i of a group from scores into unnormalised probabilities, zero from `visible` to
    // `seen`, and scales the query's previous sums to its new maximum.
    void softmax_row(int query, int i, int key_first, int keys, int seen) {
        const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim()));
        const float* const scores = a.scores + i * score_stride;
        const int visible_keys = visible(query, key_first, keys);
        const float before = a.maximum[query];
        const float now = std::max(before, maximum_of(scores, visible_keys) * scale);
        ScoreRow row{scores, visible_keys, rows::round_up(seen), scale, now, nullptr};
        if (dropout.active()) {
            dropout.factors(task.row, task.q_first + query, key_first, seen, a.factors);
            row.factors = a.factors;
        }
        const float sum = write_exponentials(row, a.p + i * score_stride);
        a.maximum[query] = now;
        if (key_first == 0) {
            a.sum[query] = sum;
            return;
        }
        const float correction = std::exp(before - now);
        a.sum[query] = a.sum[query] * correction + sum;
        rows::scale(a.out + query * width(), head_dim(), correction);
    }
};

template <class T>
void forward_head(const AttentionForward<T, HostSpace>& o, const AttentionTask& task, int head,
                  AttentionScratch& scratch) {
    const int d = o.shape.head_dim;
    const std::int64_t column = std::int64_t{head} * d;
    HeadForward<T> forward{task,
                           o.shape.mask,
                           HeadDropout(o.dropout, head),
                           o.q.columns(column, d),
                           o.k.columns(column, d),
                           o.v.columns(column, d),
                           ForwardArrays<T>(scratch.of_this_thread(), d)};
    forward.run();
    const ForwardArrays<T>& a = forward.a;
    write_attended(o, task, head, {a.out, forward.width(), a.maximum, a.sum});
}

}  // namespace

template <class T>
void forward_by_tiles(CpuContext& ctx, const AttentionForward<T, HostSpace>& operands,
                      AttentionScratch& scratch) {
    scratch.reserve(ctx.threads(), ForwardArrays<T>::floats(operands.shape.head_dim));
    for_each_head(ctx, scratch.tasks, operands.shape.heads,
                  [&](const AttentionTask& task, int head) {
                      forward_head<T>(operands, task, head, scratch);
                  });
}

template void forward_by_tiles(CpuContext&, const AttentionForward<float, HostSpace>&,
                               AttentionScratch&);
template void forward_by_tiles(CpuContext&, const AttentionForward<bf16, HostSpace>&,
                               AttentionScratch&);

}  // namespace lockstep::kernels::cpu
