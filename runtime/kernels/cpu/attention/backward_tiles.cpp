// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/cpu/attention/attention_tiles.hpp"
#include "runtime/kernels/cpu/attention/softmax_tile.hpp"

// The formulas are those of backward_blocks.cpp. A tile of scores becomes probabilities and
// gradients at once; only these are kept for the products that sum over queries or keys.
namespace lockstep::kernels::cpu {

namespace {

constexpr std::size_t block_scores = std::size_t{query_block} * score_stride;
constexpr std::size_t tile_scores = std::size_t{SoftmaxTile::most_rows} * panel_columns;

// Arrays of one thread. dq and delta are of a whole sequence, as its blocks of keys all add to
// them; dk and dv are of a block of keys.
template <class T>
struct BackwardArrays {
    BackwardArrays(float* memory, int head_dim, int longest) : carver(memory) {
        const std::size_t d = padded_columns(head_dim);
        for (T** panels : {&transposed_keys, &transposed_values, &keys})
            *panels = carver.template take_factor<T>(key_block * d);
        for (T** panels : {&queries, &d_out})
            *panels = carver.template take_factor<T>(query_block * d);
        for (T** scores : {&p_panels, &ds_panels, &ds_rows})
            *scores = carver.template take_factor<T>(block_scores);
        for (float** tile : {&p_tile, &ds_tile, &factors}) *tile = carver.take(tile_scores);
        delta = carver.take(longest);
        dq = carver.take(longest * d);
        dk = carver.take(key_block * d);
        dv = carver.take(key_block * d);
    }
    static std::size_t floats(int head_dim, int longest) {
        const std::size_t d = padded_columns(head_dim), rows = longest;
        const std::size_t factors = (3 * key_block + 2 * query_block) * d + 3 * block_scores;
        const std::size_t sums = (2 * key_block + rows) * d + Carver::rounded(rows);
        return factors / word_elements<T> + sums + 3 * tile_scores;
    }
    Carver carver;
    T *transposed_keys, *transposed_values, *keys, *queries, *d_out;  // panels
    T *p_panels, *ds_panels;  // panels: words of queries, columns of keys
    T* ds_rows;               // rows of score_stride elements
    float *p_tile, *ds_tile, *factors, *delta, *dq, *dk, *dv;
};

// A block of queries and keys. Positions count from the beginning of the sequence. The block's
// queries see the first `seen` of its keys.
struct ScoreBlock {
    int q_first, q_count, key_first, keys, seen;
};

// A head of a sequence, which a thread calculates alone, so the order of every sum is fixed.
template <class T, class G>
struct BackwardTiles {
    const AttentionTask& task;
    BackwardHead<T, G> head;
    BackwardArrays<T> a;

    int width() const { return static_cast<int>(padded_columns(head.dim())); }
    HostMatrix<float> sums(float* data, int count) const { return {data, count, width()}; }

    // Returns the first query that sees the keys from key_first on.
    int first_query(int key_first) const { return head.mask == Mask::causal ? key_first : 0; }

    // Gradients that are complete after one block need no sums in memory: those of the keys from
    // key_first on after one of queries, those of the queries after one of keys.
    bool one_query_block(int key_first) const {
        return task.q_count - first_query(key_first) <= query_block;
    }
    bool one_key_block() const { return task.k_count <= key_block; }

    // Returns how many of the block's keys its query i sees.
    int visible(const ScoreBlock& b, int i) const {
        return visible_keys(head.mask, b.q_first + i, b.key_first, b.keys);
    }

    void run() {
        if (task.q_count == 0 || task.k_count == 0) {
            fill_zero_rows(head.dq, task.q_row, task.q_count);
            fill_zero_rows(head.dk, task.k_row, task.k_count);
            fill_zero_rows(head.dv, task.k_row, task.k_count);
            return;
        }
        for (int i = 0; i < task.q_count; ++i) {
            const std::int64_t row = task.q_row + i;
            a.delta[i] = dot_of(head.out.data + row * head.out.stride,
                                head.d_out.data + row * head.d_out.stride, head.dim());
        }
        for (int first = 0; first < task.k_count; first += key_block)
            add_keys(first, std::min(key_block, task.k_count - first));
        if (!one_key_block()) store(a.dq, width(), head.dq, task.q_row, task.q_count);
    }

    void add_keys(int key_first, int keys) {
        const std::int64_t row = task.k_row + key_first;
        pack_transposed(head.k.rows_from(row, keys), a.transposed_keys);
        pack_transposed(head.v.rows_from(row, keys), a.transposed_values);
        pack_panels(head.k.rows_from(row, keys), a.keys);
        const int begin = first_query(key_first);
        for (int first = begin; first < task.q_count; first += query_block) {
            const int count = std::min(query_block, task.q_count - first);
            const int seen = visible_keys(head.mask, first + count - 1, key_first, keys);
            add_block({first, count, key_first, keys, seen},
                      first == begin ? Into::overwrite : Into::add);
        }
        if (one_query_block(key_first)) return;
        store(a.dk, width(), head.dk, row, keys);
        store(a.dv, width(), head.dv, row, keys);
    }

    // `into` is for the gradients of the keys. The sums of keys that only later queries see begin
    // at zero.
    void add_block(const ScoreBlock& b, Into into) {
        if (into == Into::overwrite)
            for (float* sums : {a.dk, a.dv})
                std::fill_n(sums + b.seen * width(), (b.keys - b.seen) * width(), 0.0f);
        pack_panels(head.q.rows_from(task.q_row + b.q_first, b.q_count), a.queries);
        pack_panels(head.d_out.rows_from(task.q_row + b.q_first, b.q_count), a.d_out);
        for (int j = 0; j < b.seen; j += panel_columns) softmax_panel(b, j);
        if (one_query_block(b.key_first)) {
            const std::int64_t row = task.k_row + b.key_first;
            multiply_queries(b, a.p_panels, a.d_out, head.dv.rows_from(row, b.seen), into);
            multiply_queries(b, a.ds_panels, a.queries, head.dk.rows_from(row, b.seen), into);
        } else {
            multiply_queries(b, a.p_panels, a.d_out, sums(a.dv, b.seen), into);
            multiply_queries(b, a.ds_panels, a.queries, sums(a.dk, b.seen), into);
        }
        if (one_key_block())
            multiply_keys(b, head.dq.rows_from(task.q_row + b.q_first, b.q_count), Into::overwrite);
        else
            multiply_keys(b, sums(a.dq + b.q_first * width(), b.q_count),
                          b.key_first > 0 ? Into::add : Into::overwrite);
    }

    // Calculates probabilities and gradients of the block's queries for the keys from j on in a
    // panel.
    void softmax_panel(const ScoreBlock& b, int j) {
        for (int i = 0; i < b.q_count; i += SoftmaxTile::most_rows) {
            const int count = std::min(SoftmaxTile::most_rows, b.q_count - i);
            if (visible(b, i + count - 1) > j) softmax_tile(b, i, count, j);
        }
    }

    void softmax_tile(const ScoreBlock& b, int i, int count, int j) {
        const int columns = tile_columns(b.seen - j), query = b.q_first + i;
        const std::int64_t row = task.q_row + query;
        const std::int64_t panel = j / panel_columns * panel_elements<T>(head.dim());
        multiply_rows(head.q.rows_from(row, count), a.transposed_keys + panel,
                      HostMatrix<float>(a.p_tile, count, columns, panel_columns));
        multiply_rows(head.d_out.rows_from(row, count), a.transposed_values + panel,
                      HostMatrix<float>(a.ds_tile, count, columns, panel_columns));
        SoftmaxTile tile{count,
                         columns,
                         a.p_tile,
                         a.ds_tile,
                         nullptr,
                         {},
                         head.log_sum_exp + row,
                         a.delta + query,
                         score_scale(head.dim())};
        for (int r = 0; r < count; ++r) tile.visible[r] = visible(b, i + r) - j;
        if (head.dropout.active()) {
            for (int r = 0; r < count; ++r)
                head.dropout.factors(task.row, query + r, b.key_first + j, columns,
                                     a.factors + r * panel_columns);
            tile.factors = a.factors;
        }
        softmax_backward_tile(tile);
        const std::int64_t at = j / panel_columns * panel_elements<T>(b.q_count) +
                                i * static_cast<std::int64_t>(panel_columns);
        write_words(a.p_tile, count, columns, a.p_panels + at);
        write_words(a.ds_tile, count, columns, a.ds_panels + at);
        write_rows(a.ds_tile, count, columns, a.ds_rows + i * score_stride + j, score_stride);
    }

    void multiply_rows(HostMatrix<const T> from, const T* panel, HostMatrix<float> tile) const {
        const std::int64_t step = rows_of_tile(tile.cols);
        for (std::int64_t i = 0; i < from.rows; i += step)
            multiply_tile(RowFactors<T>{from.data + i * from.stride, from.stride, panel,
                                        words_of<T>(head.dim())},
                          tile.rows_from(i, std::min(step, from.rows - i)), Into::overwrite);
    }

    // Calculates the transposed scores, which are panels of the block's keys, times panels of the
    // head's columns.
    template <class C>
    void multiply_queries(const ScoreBlock& b, const T* scores, const T* panels, HostMatrix<C> to,
                          Into into) const {
        const std::int64_t panel = panel_elements<T>(b.q_count);
        for (std::int64_t c = 0; c < head.dim(); c += panel_columns) {
            const HostMatrix<C> part = to.columns(c, columns_from(c, to.cols));
            const std::int64_t step = rows_of_tile(part.cols);
            const T* const factor = panels + c / panel_columns * panel;
            for (std::int64_t j = 0; j < b.seen; j += step) {
                const std::int64_t before = words_before(b, static_cast<int>(j));
                const std::int64_t skipped = before * panel_row<T>;
                multiply_tile(
                    PanelFactors<T>{scores + j / panel_columns * panel + skipped, j % panel_columns,
                                    factor + skipped, words_of<T>(b.q_count) - before},
                    part.rows_from(j, std::min(step, b.seen - j)), into);
            }
        }
    }

    // Returns how many words of the block's queries do not see its key j.
    std::int64_t words_before(const ScoreBlock& b, int j) const {
        if (head.mask == Mask::none) return 0;
        return std::max(0, b.key_first + j - b.q_first) / word_elements<T>;
    }

    // Returns how many columns a tile has from the head's column c on, in a matrix of so many.
    std::int64_t columns_from(std::int64_t c, std::int64_t cols) const {
        return std::min<std::int64_t>(tile_columns(head.dim() - static_cast<int>(c)), cols - c);
    }

    // Calculates the gradients of the scores times the keys.
    template <class C>
    void multiply_keys(const ScoreBlock& b, HostMatrix<C> to, Into into) const {
        for (std::int64_t c = 0; c < head.dim(); c += panel_columns) {
            const HostMatrix<C> part = to.columns(c, columns_from(c, to.cols));
            const std::int64_t step = rows_of_tile(part.cols);
            const T* const panel = a.keys + c / panel_columns * panel_elements<T>(b.keys);
            for (std::int64_t i = 0; i < b.q_count; i += step) {
                const std::int64_t count = std::min(step, b.q_count - i);
                const int seen = visible(b, static_cast<int>(i + count - 1));
                multiply_tile(RowFactors<T>{a.ds_rows + i * score_stride, score_stride, panel,
                                            words_of<T>(seen)},
                              part.rows_from(i, count), into);
            }
        }
    }
};

}  // namespace

template <class T, class G>
void backward_by_tiles(CpuContext& ctx, const AttentionBackward<T, HostSpace>& o,
                       const KeyGradients<G>& keys, std::span<const AttentionTask> tasks,
                       AttentionScratch& scratch) {
    const int d = o.shape.head_dim, longest = longest_task(tasks);
    scratch.reserve(ctx.threads(), BackwardArrays<T>::floats(d, longest));
    for_each_head(team_of(ctx, tasks, o.shape.heads), tasks, o.shape.heads,
                  [&](const AttentionTask& task, int head) {
                      BackwardTiles<T, G>{task, BackwardHead<T, G>(o, keys, head),
                                          BackwardArrays<T>(scratch.of_this_thread(), d, longest)}
                          .run();
                  });
}

template void backward_by_tiles(CpuContext&, const AttentionBackward<float, HostSpace>&,
                                const KeyGradients<float>&, std::span<const AttentionTask>,
                                AttentionScratch&);
template void backward_by_tiles(CpuContext&, const AttentionBackward<bf16, HostSpace>&,
                                const KeyGradients<bf16>&, std::span<const AttentionTask>,
                                AttentionScratch&);
template void backward_by_tiles(CpuContext&, const AttentionBackward<bf16, HostSpace>&,
                                const KeyGradients<float>&, std::span<const AttentionTask>,
                                AttentionScratch&);

}  // namespace lockstep::kernels::cpu
