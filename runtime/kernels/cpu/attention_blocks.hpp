// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>
#include <type_traits>
#include <vector>

#include "runtime/device/buffer.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/cpu/attention_rows.hpp"
#include "runtime/kernels/cpu/matmul.hpp"
#include "runtime/kernels/product_library.hpp"

// What forward and backward share: how a ragged batch is cut into blocks, and products of blocks.
// Blocks of scores are small enough for a core's second-level cache.
namespace lockstep::kernels::cpu {

constexpr int query_block = 128;
constexpr int key_block = 256;
static_assert(key_block % query_block == 0, "a causal row would see no key of its last block");
static_assert(key_block % mask_columns == 0);

// Queries [q_first, q_first + q_count) of a sequence against its keys; all counts from the
// sequence's beginning, where query 0 is row `q_row` and key 0 row `k_row` of the batch.
struct AttentionTask {
    std::int64_t q_row, k_row;
    int q_first, q_count, k_count;
    std::uint32_t row;
};

// Kept from call to call, so that a step allocates nothing.
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

// Cuts a thread's scratch into arrays that begin on cache lines.
class Carver {
public:
    explicit Carver(float* next) noexcept : next_(next) {}
    float* take(std::size_t count) noexcept {
        float* taken = next_;
        next_ += rounded(count);
        return taken;
    }
    // No larger than as many floats.
    template <class C>
    C* take_factor(std::size_t count) noexcept {
        return reinterpret_cast<C*>(take(count));
    }
    static constexpr std::size_t rounded(std::size_t count) noexcept {
        return (count + 15) / 16 * 16;
    }

private:
    float* next_;
};

// A factor of a product: its rows are `stride` elements apart. C is what products are of: float, or
// bf16 where the processor multiplies it.
template <class C>
struct Block {
    const C* data;
    std::int64_t stride;
};

// How many rows or columns products take for n. bf16 has oneDNN's own code for each shape, so there
// all lengths share a few shapes, filled up with zeros.
template <class C>
int extent(int n) noexcept {
    return std::is_same_v<C, float> ? n : rows::round_up(n);
}

// The head's columns of `count` rows as a factor: where they are, or in `room`.
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

// A block of floats, their rows `stride` apart, to the columns of a head.
template <class T>
void store(const float* from, int stride, HostMatrix<T> m, std::int64_t first, int count) {
    const int cols = static_cast<int>(m.cols);
    for (int i = 0; i < count; ++i) {
        rows::convert(from + std::int64_t{i} * stride, m.data + (first + i) * m.stride, cols);
    }
}

// Rows of scores as a factor: converted, or, where they are floats already, as they are.
inline void to_factor(const float* scores, bf16* factor, int columns) {
    rows::convert(scores, factor, columns);
}
inline void to_factor(const float*, float*, int) {}

// Whether products are of the elements as they are; of floats otherwise.
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

// c [m, n] (rows c_stride apart) = or += a b, where a is [m, k] and b [k, n] after transposition.
// oneDNN runs it on the calling thread alone, inside a parallel region.
void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<bf16> a, Operand<bf16> b,
                     Into into, float* c, std::int64_t c_stride);
void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<float> a, Operand<float> b,
                     Into into, float* c, std::int64_t c_stride);

// The first failure inside a parallel region, since nothing may be thrown across its border.
class RegionFailure {
public:
    template <class Work>
    void guard(const Work& work) noexcept {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!first_) first_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::mutex mutex_;
    std::exception_ptr first_;
};

// Contract checks, then one task per `queries_per_task` queries, the longest first so that the
// threads end together.
void plan_tasks(const AttentionShape& shape, const Sequences<HostSpace>& sequences,
                std::int64_t q_total, std::int64_t k_total, int queries_per_task,
                std::vector<AttentionTask>& tasks);

template <class T>
void fill_zero_rows(HostMatrix<T> m, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
        std::fill_n(m.data + i * m.stride, m.cols, T{});
    }
}

// The dropout of one head, row by row.
class HeadDropout {
public:
    HeadDropout(const Dropout& site, int head) : active_(site.active()), mask_(row_mask(site)) {
        mask_.site += static_cast<std::uint32_t>(head);
    }
    bool active() const noexcept { return active_; }
    // Factors of `count` keys from key_first on; `to` has room for a block of keys.
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
