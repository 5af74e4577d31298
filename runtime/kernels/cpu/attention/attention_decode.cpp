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

// Computes one head of one query. Memory limits it, so it works row by row without blocks. k and v
// are the head's columns of the sequence's rows.
template <class T>
void decode_head(const T* q, HostMatrix<const T> k, HostMatrix<const T> v, T* out, float* memory) {
    const int d = static_cast<int>(k.cols);
    const int keys = static_cast<int>(k.rows);
    Carver carver(memory);
    float* query = carver.take(d);
    float* sum = carver.take(d);
    float* p = carver.take(keys);
    rows::convert(q, query, d);
    rows::scale(query, d, 1.0f / std::sqrt(static_cast<float>(d)));
    constexpr int rows_ahead = 6;  // the time of a read from memory is that of about six products
    for (int j = 0; j < keys; ++j) {
        if (j + rows_ahead < keys) fetch_ahead(k.data + (j + rows_ahead) * k.stride, d);
        fetch_ahead(v.data + j * v.stride, d);
        p[j] = rows::dot(k.data + j * k.stride, query, d);
    }
    const float total = rows::exponentials(p, keys, keys, 1.0f, rows::maximum(p, keys));
    std::fill_n(sum, d, 0.0f);
    for (int j = 0; j < keys; ++j) rows::add_scaled(v.data + j * v.stride, p[j], sum, d);
    rows::scale(sum, d, 1.0f / total);
    rows::convert(sum, out, d);
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
    auto& scratch = cached<AttentionScratch>(ctx);
    scratch.reserve(ctx.threads(), 2 * Carver::rounded(d) + Carver::rounded(longest));
    const int threads = team_of(ctx, elements);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (std::int64_t i = 0; i < o.q.rows * o.shape.heads; ++i) {
        const std::int64_t s = i / o.shape.heads;
        const int head = static_cast<int>(i % o.shape.heads);
        const std::int64_t c = std::int64_t{head} * d, kv = std::int64_t{o.shape.kv_head(head)} * d;
        T* to = o.out.data + s * o.out.stride + c;
        if (length[s] == 0) {
            std::fill_n(to, d, T{});
            continue;
        }
        const std::int64_t hidden = hidden_keys(o.shape.window, length[s] - 1, 0, length[s]);
        const std::int64_t first = begin[s] + hidden, count = length[s] - hidden;
        decode_head(o.q.data + s * o.q.stride + c, o.k_cache.columns(kv, d).rows_from(first, count),
                    o.v_cache.columns(kv, d).rows_from(first, count), to, scratch.of_this_thread());
    }
}

template void attention_decode(CpuContext&, const AttentionDecode<float, HostSpace>&);
template void attention_decode(CpuContext&, const AttentionDecode<bf16, HostSpace>&);

}  // namespace lockstep::kernels
