// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "runtime/core/region_failure.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/cpu/attention/attention_rows.hpp"
#include "runtime/kernels/cpu/matmul/matmul.hpp"
#include "runtime/kernels/product_library.hpp"

// Attention's forward and backward share this: how a ragged batch is cut into blocks, and products
// of blocks. A block of scores fits a core's second-level cache.
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

// A factor of a product; its rows are `stride` elements apart. C is the type that products are
// computed from: float, or bf16 if the processor multiplies bf16.
template <class C>
struct Block {
    const C* data;
    std::int64_t stride;
};

// Returns how many rows or columns a product uses for n. oneDNN generates code for each bf16 shape,
// so bf16 lengths are rounded up and filled with zeros to share a few shapes.
template <class C>
int extent(int n) noexcept {
    return std::is_same_v<C, float> ? n : rows::round_up(n);
}

// Returns `count` rows of a head's columns as a factor: a view of m if T is float, otherwise a copy
// in `room`.
template <class C, class T>
Block<C> load(HostMatrix<const T> m, std::int64_t first, int count, C* room) {
    if constexpr (std::is_same_v<T, float>) return {m.data + first * m.stride, m.stride};
    const int cols = static_cast<int>(m.cols), stride = extent<C>(cols);
    for (int i = 0; i < count; ++i) {
        C* row = room + std::int64_t{i} * stride;
        rows::convert(m.data + (first + i) * m.stride, row, cols);
        std::fill(row + cols, row + stride, C{});
    }
    std::fill_n(room + std::int64_t{count} * stride, (extent<C>(count) - count) * stride, C{});
    return {room, stride};
}

// Writes a block of floats, its rows `stride` apart, to the columns of a head.
template <class T>
void store(const float* from, int stride, HostMatrix<T> m, std::int64_t first, int count) {
    const int cols = static_cast<int>(m.cols);
    for (int i = 0; i < count; ++i) {
        rows::convert(from + std::int64_t{i} * stride, m.data + (first + i) * m.stride, cols);
    }
}

// Converts rows of scores to a factor. Floats need no conversion.
inline void to_factor(const float* scores, bf16* factor, int columns) {
    rows::convert(scores, factor, columns);
}
inline void to_factor(const float*, float*, int) {}

// Returns whether products use elements of type T. Otherwise they use floats.
template <class T>
bool multiplies() noexcept {
    return std::is_same_v<T, float> || multiplies_bf16();
}

enum class Side { plain, transposed };

template <class C>
struct Operand {
    Block<C> block;
    Side side = Side::plain;
};

// Computes c [m, n] = a b or c += a b, where a is [m, k] and b is [k, n] after transposition. Rows
// of c are c_stride apart. oneDNN runs the product on the calling thread alone, inside a parallel
// region.
void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<bf16> a, Operand<bf16> b,
                     Into into, float* c, std::int64_t c_stride);
void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<float> a, Operand<float> b,
                     Into into, float* c, std::int64_t c_stride);

// Checks the offsets, then makes one task per `queries_per_task` queries. The longest tasks come
// first, so that the threads end at about the same time.
void plan_tasks(const AttentionShape& shape, const Sequences<HostSpace>& sequences,
                std::int64_t q_total, std::int64_t k_total, int queries_per_task,
                std::vector<AttentionTask>& tasks);

// Calls f(task, head) for each head of each task; the context's threads share the calls. Rethrows
// what one of them threw.
template <class F>
void for_each_head(CpuContext& ctx, const std::vector<AttentionTask>& tasks, int heads,
                   const F& f) {
    RegionFailure failure;
    const auto count = static_cast<std::int64_t>(tasks.size()) * heads;
#pragma omp parallel for schedule(dynamic) num_threads(ctx.threads())
    for (std::int64_t i = 0; i < count; ++i)
        failure.guard([&] { f(tasks[i / heads], static_cast<int>(i % heads)); });
    failure.rethrow();
}

template <class T>
void fill_zero_rows(HostMatrix<T> m, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
        std::fill_n(m.data + i * m.stride, m.cols, T{});
    }
}

// A head's attended values of a task before their division by `sum`; rows are `stride` floats
// apart. `maximum` is the largest score of each query, and `sum` that of its exponentials less the
// maximum.
struct Attended {
    float* rows;
    int stride;
    const float *maximum, *sum;
};

// Writes a head's part of the outputs of a task. Without keys they are zero.
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

// Calculates the dropout factors of one head, row by row.
class HeadDropout {
public:
    HeadDropout(const Dropout& site, int head) : active_(site.active()), mask_(row_mask(site)) {
        mask_.site += static_cast<std::uint32_t>(head);
    }
    bool active() const noexcept { return active_; }
    // Writes the factors of `count` keys from key_first on. `to` has room for a block of keys.
    void factors(std::uint32_t global_row, int query, int key_first, int count, float* to) {
        mask_.row = global_row;
        mask_.position = static_cast<std::uint32_t>(query);
        mask_factors(mask_, key_first, count, to);
    }

private:
    bool active_;
    RowMask mask_;
};

}  // namespace lockstep::kernels::cpu
