// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "runtime/core/region_failure.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/cpu/attention/attention_rows.hpp"
#include "runtime/kernels/cpu/matmul/matmul.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"

// Attention by blocks (attention_blocks.hpp) and by tiles (attention_tiles.hpp) share this: how a
// ragged batch is cut into tasks, how the threads divide them, and what a head reads and writes.
namespace lockstep::kernels::cpu {

constexpr int query_block = 128;
constexpr int key_block = 256;
static_assert(key_block % query_block == 0, "a causal row would see no key of its last block");
static_assert(key_block % mask_columns == 0);

// Queries [q_first, q_first + q_count) of a sequence and its first k_count keys. Positions count
// from the beginning of the sequence: query 0 is row `q_row` of the batch and key 0 is row `k_row`.
// `row` is the global row.
struct AttentionTask {
    std::int64_t q_row, k_row;
    int q_first, q_count, k_count;
    std::uint32_t row;
};

// Checks the offsets, then makes one task per `queries_per_task` queries. The longest tasks come
// first, so that the threads end at about the same time.
void plan_tasks(const AttentionShape& shape, const Sequences<HostSpace>& sequences,
                std::int64_t q_total, std::int64_t k_total, int queries_per_task,
                std::vector<AttentionTask>& tasks);

// Returns the most queries of a task.
inline int longest_task(std::span<const AttentionTask> tasks) noexcept {
    int longest = 0;
    for (const AttentionTask& task : tasks) longest = std::max(longest, task.q_count);
    return longest;
}

// Memory that is kept from call to call, so that a step allocates nothing.
class AttentionScratch {
public:
    std::vector<AttentionTask> tasks;

    void reserve(int threads, std::size_t floats_per_thread) {
        if (of_thread_.size() < static_cast<std::size_t>(threads)) {
            of_thread_.resize(threads);
            products_.resize(threads);
        }
        for (Memory& m : of_thread_) {
            if (m.size() < floats_per_thread) m = Memory(std::bit_ceil(floats_per_thread));
        }
    }
    float* of_this_thread() noexcept { return of_thread_[omp_get_thread_num()].view().data(); }
    MatmulCache& products_of_this_thread() noexcept { return products_[omp_get_thread_num()]; }

private:
    using Memory = device::Buffer<float, HostSpace>;
    std::vector<Memory> of_thread_;
    std::vector<MatmulCache> products_;
};

// Cuts a thread's scratch memory into arrays that begin on cache lines.
class Carver {
public:
    explicit Carver(float* next) noexcept : next_(next) {}
    float* take(std::size_t count) noexcept {
        float* taken = next_;
        next_ += rounded(count);
        return taken;
    }
    // Requires sizeof(C) <= sizeof(float).
    template <class C>
    C* take_factor(std::size_t count) noexcept {
        return reinterpret_cast<C*>(take((count * sizeof(C) + sizeof(float) - 1) / sizeof(float)));
    }
    static constexpr std::size_t rounded(std::size_t count) noexcept {
        return (count + 15) / 16 * 16;
    }

private:
    float* next_;
};

// Returns how many threads share the heads of the tasks.
inline int team_of(CpuContext& ctx, std::span<const AttentionTask> tasks, int heads) {
    constexpr std::int64_t elements_of_score = 4;  // it takes as long as so many simple ones
    std::int64_t scores = 0;
    for (const AttentionTask& task : tasks) scores += std::int64_t{task.q_count} * task.k_count;
    return team_of(ctx, elements_of_score * scores * heads);
}

// Calls f(task, head) for each head of each task; so many threads share the calls. Rethrows what
// one of them threw.
template <class F>
void for_each_head(int threads, std::span<const AttentionTask> tasks, int heads, const F& f) {
    RegionFailure failure;
    const auto count = static_cast<std::int64_t>(tasks.size()) * heads;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t i = 0; i < count; ++i)
        failure.guard([&] { f(tasks[i / heads], static_cast<int>(i % heads)); });
    failure.rethrow();
}

// Calculates the dropout factors of one head, row by row.
class HeadDropout {
public:
    HeadDropout(const Dropout& site, int head) : active_(site.active()), mask_(row_mask(site)) {
        mask_.site += static_cast<std::uint32_t>(head);
    }
    bool active() const noexcept { return active_; }
    // Writes the factors of `count` keys from key_first on, a multiple of mask_columns. `to` has
    // room for `count` rounded up to mask_columns.
    void factors(std::uint32_t global_row, int query, int key_first, int count, float* to) {
        mask_.row = global_row;
        mask_.position = static_cast<std::uint32_t>(query);
        mask_factors(mask_, key_first, count, to);
    }

private:
    bool active_;
    RowMask mask_;
};

// Returns how many of the `keys` keys from key_first on a query sees. Positions count from the
// beginning of the sequence.
inline int visible_keys(Mask mask, int query, int key_first, int keys) noexcept {
    return mask == Mask::causal ? std::clamp(query - key_first + 1, 0, keys) : keys;
}

// Returns how many of those keys the window hides from the query. 0: there is no window.
inline int hidden_keys(std::int32_t window, int query, int key_first, int keys) noexcept {
    if (window == 0) return 0;
    const std::int64_t hidden = std::int64_t{query} - window + 1 - key_first;
    return static_cast<int>(std::clamp<std::int64_t>(hidden, 0, keys));
}

// Returns the beginning of the first block of keys of which the window leaves some to the queries
// from `query` on.
inline int first_key_block(std::int32_t window, int query) noexcept {
    return hidden_keys(window, query, 0, query) / key_block * key_block;
}

// Returns the end of the queries that see some of the keys before key_end.
inline int end_of_queries(std::int32_t window, int queries, int key_end) noexcept {
    if (window == 0) return queries;
    return static_cast<int>(std::min<std::int64_t>(queries, std::int64_t{key_end} - 1 + window));
}

inline float score_scale(int head_dim) noexcept {
    return 1.0f / std::sqrt(static_cast<float>(head_dim));
}

// One head's columns of the operands of attention_forward().
template <class T>
struct ForwardHead {
    template <class Operands>
    ForwardHead(const Operands& o, int head)
        : mask(o.shape.mask),
          window(o.shape.window),
          dropout(o.dropout, head),
          q(columns_of(o, o.q, head)),
          k(columns_of(o, o.k, o.shape.kv_head(head))),
          v(columns_of(o, o.v, o.shape.kv_head(head))) {}
    int dim() const noexcept { return static_cast<int>(q.cols); }

    Mask mask;
    std::int32_t window;
    HeadDropout dropout;
    HostMatrix<const T> q, k, v;

protected:
    template <class Operands, class U>
    static HostMatrix<U> columns_of(const Operands& o, HostMatrix<U> matrix, int head) {
        return matrix.columns(std::int64_t{head} * o.shape.head_dim, o.shape.head_dim);
    }
};

// The gradients of the keys and values of each head [k_total, heads * head_dim]: those of the
// operands, of type T, or in fp32 what is still to be summed over heads that share keys.
template <class G>
struct KeyGradients {
    HostMatrix<G> dk, dv;
};

// One head's columns of the operands of attention_backward().
template <class T, class G>
struct BackwardHead : ForwardHead<T> {
    BackwardHead(const AttentionBackward<T, HostSpace>& o, const KeyGradients<G>& keys, int head)
        : ForwardHead<T>(o, head),
          log_sum_exp(o.log_sum_exp.data() + head * o.q.rows),
          out(this->columns_of(o, o.out, head)),
          d_out(this->columns_of(o, o.d_out, head)),
          dq(this->columns_of(o, o.dq, head)),
          dk(this->columns_of(o, keys.dk, head)),
          dv(this->columns_of(o, keys.dv, head)) {}

    const float* log_sum_exp;  // of the batch's rows
    HostMatrix<const T> out, d_out;
    HostMatrix<T> dq;
    HostMatrix<G> dk, dv;
};

template <class T>
void fill_zero_rows(HostMatrix<T> m, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
        std::fill_n(m.data + i * m.stride, m.cols, T{});
    }
}

// Writes a block of floats, its rows `stride` apart, to the columns of a head.
template <class T>
void store(const float* from, int stride, HostMatrix<T> m, std::int64_t first, int count) {
    const int cols = static_cast<int>(m.cols);
    for (int i = 0; i < count; ++i) {
        rows::convert(from + std::int64_t{i} * stride, m.data + (first + i) * m.stride, cols);
    }
}

// A head's attended values of a task before their division by `sum`. Rows are `stride` floats
// apart. `maximum` is the largest score of each query, and `sum` is the sum of its
// exp(score - maximum).
struct Attended {
    float* rows;
    int stride;
    const float *maximum, *sum;
};

// Writes a head's part of the outputs of a task. Without keys they are zero. Uses up attended.rows.
template <class T>
void write_attended(const AttentionForward<T, HostSpace>& o, const AttentionTask& task, int head,
                    const Attended& attended) {
    const int d = o.shape.head_dim;
    const std::int64_t first = task.q_row + task.q_first;
    const HostMatrix<T> out = o.out.columns(std::int64_t{head} * d, d);
    float* const lse = o.log_sum_exp.data() + head * o.q.rows + first;
    if (task.k_count == 0) {
        fill_zero_rows(out, first, task.q_count);
        std::fill_n(lse, task.q_count, 0.0f);
        return;
    }
    for (int i = 0; i < task.q_count; ++i) {
        rows::scale(attended.rows + i * attended.stride, d, 1.0f / attended.sum[i]);
        lse[i] = attended.maximum[i] + std::log(attended.sum[i]);
    }
    store(attended.rows, attended.stride, out, first, task.q_count);
}

}  // namespace lockstep::kernels::cpu
