// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/cpu/attention/attention_tasks.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"

namespace lockstep::kernels {
namespace {

using namespace cpu;

// A head's rows are too far apart for the processor to see what comes next.
template <class T>
void fetch_ahead(const T* row, int d) {
    constexpr int line = 64 / static_cast<int>(sizeof(T));
    for (int j = 0; j < d; j += line) __builtin_prefetch(row + j);
}

// So many heads of one query, which read the same keys and values.
template <class T>
struct SharedHeads {
    int heads;
    const T* q;                // the heads' columns, one head after another
    HostMatrix<const T> k, v;  // the columns and rows that they read
    T* out;

    int dim() const { return static_cast<int>(k.cols); }
    int keys() const { return static_cast<int>(k.rows); }
    static std::size_t floats(int heads, int dim, int keys) {
        return heads * (2 * Carver::rounded(dim) + Carver::rounded(keys)) + Carver::rounded(heads);
    }

    // Memory limits it, so it works row by row without blocks, and reads a row once for all heads.
    void run(float* memory) const {
        const std::size_t row = Carver::rounded(dim()), scores = Carver::rounded(keys());
        Carver carver(memory);
        float* const queries = carver.take(heads * row);
        float* const sums = carver.take(heads * row);
        float* const p = carver.take(heads * scores);
        float* const totals = carver.take(heads);
        for (int h = 0; h < heads; ++h) {
            rows::convert(q + h * dim(), queries + h * row, dim());
            rows::scale(queries + h * row, dim(), score_scale(dim()));
        }
        constexpr int rows_ahead =
            6;  // the time of a read from memory is that of about six products
        for (int j = 0; j < keys(); ++j) {
            if (j + rows_ahead < keys()) fetch_ahead(k.data + (j + rows_ahead) * k.stride, dim());
            fetch_ahead(v.data + j * v.stride, dim());
            for (int h = 0; h < heads; ++h)
                p[h * scores + j] = rows::dot(k.data + j * k.stride, queries + h * row, dim());
        }
        std::fill_n(sums, heads * row, 0.0f);
        for (int h = 0; h < heads; ++h)
            totals[h] = rows::exponentials(p + h * scores, keys(), keys(), 1.0f,
                                           rows::maximum(p + h * scores, keys()));
        for (int j = 0; j < keys(); ++j)
            for (int h = 0; h < heads; ++h)
                rows::add_scaled(v.data + j * v.stride, p[h * scores + j], sums + h * row, dim());
        for (int h = 0; h < heads; ++h) {
            rows::scale(sums + h * row, dim(), 1.0f / totals[h]);
            rows::convert(sums + h * row, out + h * dim(), dim());
        }
    }
};

// Returns how many heads of a query a thread takes at a time: all that share keys, unless there
// would be too few works for the threads. No number depends on it.
int heads_at_once(const AttentionShape& shape, std::int64_t queries, int threads) noexcept {
    const int shared = shape.heads_per_key();
    return queries * shape.key_heads() >= threads ? shared : 1;
}

}  // namespace

template <class T>
void attention_decode(CpuContext& ctx, const AttentionDecode<T, HostSpace>& o) {
    check(o);
    const int d = o.shape.head_dim;
    const auto& begin = o.begin;
    const auto& length = o.length;
    int longest = 0;
    std::int64_t elements = 0;  // keys and values that are read
    for (std::int64_t s = 0; s < o.q.rows; ++s) {
        require(begin[s] >= 0 && length[s] >= 0 && begin[s] + length[s] <= o.k_cache.rows,
                "attention_decode: a sequence outside the cache");
        longest = std::max(longest, length[s]);
        elements += 2 * std::int64_t{length[s]} * o.q.cols;
    }
    const int threads = team_of(ctx, elements);
    const int heads = heads_at_once(o.shape, o.q.rows, threads), parts = o.shape.heads / heads;
    auto& scratch = cached<AttentionScratch>(ctx);
    scratch.reserve(ctx.threads(), SharedHeads<T>::floats(heads, d, longest));
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (std::int64_t i = 0; i < o.q.rows * parts; ++i) {
        const std::int64_t s = i / parts;
        const int head = static_cast<int>(i % parts) * heads;
        const std::int64_t c = std::int64_t{head} * d, kv = std::int64_t{o.shape.kv_head(head)} * d;
        T* to = o.out.data + s * o.out.stride + c;
        if (length[s] == 0) {
            std::fill_n(to, heads * d, T{});
            continue;
        }
        const std::int64_t hidden = hidden_keys(o.shape.window, length[s] - 1, 0, length[s]);
        const std::int64_t first = begin[s] + hidden, count = length[s] - hidden;
        SharedHeads<T>{heads, o.q.data + s * o.q.stride + c,
                       o.k_cache.columns(kv, d).rows_from(first, count),
                       o.v_cache.columns(kv, d).rows_from(first, count), to}
            .run(scratch.of_this_thread());
    }
}

template void attention_decode(CpuContext&, const AttentionDecode<float, HostSpace>&);
template void attention_decode(CpuContext&, const AttentionDecode<bf16, HostSpace>&);

}  // namespace lockstep::kernels
