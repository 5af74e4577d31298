// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/cpu/attention/attention_tiles.hpp"
#include "runtime/kernels/cpu/attention/softmax_tile.hpp"

// The algorithm is that of forward_blocks.cpp, for a group of queries at a time.
namespace lockstep::kernels::cpu {

namespace {

// The scores of so many queries take 36 KiB at most, and with 104 keys 13 KiB. Every panel of keys
// and values is read once for a group.
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

// Queries [first, first + count) of a task and a block of keys.
struct Group {
    int first, count, key_first, keys;
};

// A head of a task. Queries count from the task's first one.
template <class T>
struct ForwardTiles {
    const AttentionTask& task;
    ForwardHead<T> head;
    ForwardArrays<T> a;

    int width() const { return static_cast<int>(padded_columns(head.dim())); }

    // Returns how many of the group's keys its query i sees.
    int visible(const Group& g, int i) const {
        return visible_keys(head.mask, task.q_first + g.first + i, g.key_first, g.keys);
    }

    void run() {
        std::fill_n(a.maximum, task.q_count, -std::numeric_limits<float>::infinity());
        for (int first = 0; first < task.k_count; first += key_block) {
            const int keys = std::min(key_block, task.k_count - first);
            pack_transposed(head.k.rows_from(task.k_row + first, keys), a.keys);
            pack_panels(head.v.rows_from(task.k_row + first, keys), a.values);
            for (int i = 0; i < task.q_count; i += group_rows)
                attend({i, std::min(group_rows, task.q_count - i), first, keys});
        }
    }

    void attend(const Group& g) {
        const int seen = visible(g, g.count - 1);
        for (int j = 0; j < seen; j += panel_columns) multiply_keys(g, j);
        for (int i = 0; i < g.count; ++i) softmax_row(g, i, seen);
        for (int j = 0; j < head.dim(); j += panel_columns) multiply_values(g, j);
    }

    // Calculates the group's scores of the keys from j on in a panel.
    void multiply_keys(const Group& g, int j) {
        const int columns = tile_columns(g.keys - j);
        const int step = static_cast<int>(rows_of_tile(columns));
        const T* const panel = a.keys + j / panel_columns * panel_elements<T>(head.dim());
        for (int i = 0; i < g.count; i += step) {
            const int count = std::min(step, g.count - i);
            if (visible(g, i + count - 1) <= j) continue;
            const std::int64_t row = task.q_row + task.q_first + g.first + i;
            multiply_tile(
                RowFactors<T>{head.q.data + row * head.q.stride, head.q.stride, panel,
                              words_of<T>(head.dim())},
                HostMatrix<float>(a.scores + i * score_stride + j, count, columns, score_stride),
                Into::overwrite);
        }
    }

    // Adds the group's probabilities times the columns from j on in a panel of the values.
    void multiply_values(const Group& g, int j) {
        const int columns = tile_columns(head.dim() - j);
        const int step = static_cast<int>(rows_of_tile(columns));
        const T* const panel = a.values + j / panel_columns * panel_elements<T>(g.keys);
        for (int i = 0; i < g.count; i += step) {
            const int count = std::min(step, g.count - i);
            float* const out = a.out + (g.first + i) * width() + j;
            multiply_tile(RowFactors<T>{a.p + i * score_stride, score_stride, panel,
                                        words_of<T>(visible(g, i + count - 1))},
                          HostMatrix<float>(out, count, columns, width()),
                          g.key_first > 0 ? Into::add : Into::overwrite);
        }
    }

    // Turns the scores of the group's query i into unnormalised probabilities, zero for keys that
    // only later queries of the group see, and scales the query's previous sums to its new maximum.
    void softmax_row(const Group& g, int i, int seen) {
        const int query = g.first + i;
        const float scale = score_scale(head.dim());
        const float* const scores = a.scores + i * score_stride;
        const float before = a.maximum[query];
        const float now = std::max(before, maximum_of(scores, visible(g, i)) * scale);
        ScoreRow row{scores, visible(g, i), rows::round_up(seen), scale, now, nullptr};
        if (head.dropout.active()) {
            head.dropout.factors(task.row, task.q_first + query, g.key_first, seen, a.factors);
            row.factors = a.factors;
        }
        const float sum = write_exponentials(row, a.p + i * score_stride);
        a.maximum[query] = now;
        if (g.key_first == 0) {
            a.sum[query] = sum;
            return;
        }
        const float correction = std::exp(before - now);
        a.sum[query] = a.sum[query] * correction + sum;
        rows::scale(a.out + query * width(), head.dim(), correction);
    }
};

}  // namespace

template <class T>
void forward_by_tiles(CpuContext& ctx, const AttentionForward<T, HostSpace>& o,
                      std::span<const AttentionTask> tasks, AttentionScratch& scratch) {
    const int d = o.shape.head_dim;
    scratch.reserve(ctx.threads(), ForwardArrays<T>::floats(d));
    for_each_head(team_of(ctx, tasks, o.shape.heads), tasks, o.shape.heads,
                  [&](const AttentionTask& task, int head) {
                      if (task.q_count == 0) return;
                      ForwardTiles<T> tiles{task, ForwardHead<T>(o, head),
                                            ForwardArrays<T>(scratch.of_this_thread(), d)};
                      tiles.run();
                      write_attended(o, task, head,
                                     {tiles.a.out, tiles.width(), tiles.a.maximum, tiles.a.sum});
                  });
}

template void forward_by_tiles(CpuContext&, const AttentionForward<float, HostSpace>&,
                               std::span<const AttentionTask>, AttentionScratch&);
template void forward_by_tiles(CpuContext&, const AttentionForward<bf16, HostSpace>&,
                               std::span<const AttentionTask>, AttentionScratch&);

}  // namespace lockstep::kernels::cpu
