// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/cuda/attention/attention_decode_sums.hpp"
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

// Reading the cache once limits the speed. Each group of `lanes` threads reads one key and one
// value at a time and keeps its own online softmax. The sums of a block's groups are merged in
// shared memory, those of several blocks in device memory.
namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 128;
constexpr int least_keys = 64;  // minimum of a block when several blocks share a sequence
constexpr int max_splits = 32;

template <class T>
struct Decode {
    const std::int64_t* begin;
    const std::int32_t* length;
    CudaMatrix<const T> q, k, v;
    CudaMatrix<T> out;
    int head_dim, splits, heads_per_key, window;
    float scale;     // log2(e) / sqrt(head_dim)
    float* records;  // per block [sequences, heads, splits, head_dim + 2]; null for one split

    // Returns how many of a sequence's keys its query sees, and the cache's row of the first.
    __device__ __forceinline__ int keys(std::int64_t sequence) const {
        return window == 0 || length[sequence] < window ? length[sequence] : window;
    }
    __device__ __forceinline__ std::int64_t first_key(std::int64_t sequence) const {
        return begin[sequence] + length[sequence] - keys(sequence);
    }
};

// The keys [from, to) of a sequence that one of several blocks processes.
struct KeyRange {
    std::int64_t from, to;
};
__device__ __forceinline__ KeyRange keys_of(int length, int split, int splits) {
    const int each = (length + splits - 1) / splits;
    const std::int64_t rounded =
        each < least_keys ? least_keys : (each + least_keys - 1) / least_keys * least_keys;
    return {std::min(split * rounded, std::int64_t{length}),
            std::min((split + 1) * rounded, std::int64_t{length})};
}

template <class T, int width, int lanes, int parts>
__device__ __forceinline__ LaneSums<width, lanes, parts> sum_keys(
    const Decode<T>& d, std::int64_t sequence, std::int64_t column, const KeyRange& range,
    const Columns<width, lanes, parts>& columns) {
    constexpr int keys = parts < 4 ? 4 / parts : 1;  // loaded together: many reads in flight
    constexpr int groups = threads / lanes;
    float q[parts][width] = {};
    columns.read(d.q.data + sequence * d.q.stride + column, true, d.head_dim, q);
    const std::int64_t kv_column =
        std::int64_t{static_cast<int>(blockIdx.y) / d.heads_per_key} * d.head_dim;
    const T* k = d.k.data + d.first_key(sequence) * d.k.stride + kv_column;
    const T* v = d.v.data + d.first_key(sequence) * d.v.stride + kv_column;
    LaneSums<width, lanes, parts> sums;
    // All lanes of a warp loop equally often, because each of them takes part in the shuffles.
    for (std::int64_t first = range.from; first < range.to; first += groups * keys) {
        float k_values[keys][parts][width], v_values[keys][parts][width], scores[keys];
        const std::int64_t own = first + threadIdx.x / lanes;
#pragma unroll
        for (int i = 0; i < keys; ++i) {
            const std::int64_t key = own + i * groups;
            columns.read(k + key * d.k.stride, key < range.to, d.head_dim, k_values[i]);
            columns.read(v + key * d.v.stride, key < range.to, d.head_dim, v_values[i]);
        }
#pragma unroll
        for (int i = 0; i < keys; ++i) {
            scores[i] = sums.dot(q, k_values[i]) * d.scale;
            if (own + i * groups >= range.to) scores[i] = -INFINITY;
        }
        sums.add(scores, v_values);
    }
    return sums;
}

template <class T, int width, int lanes, int parts>
__global__ void __launch_bounds__(threads) decode_kernel(Decode<T> d) {
    const auto split = static_cast<int>(blockIdx.x) % d.splits;
    const std::int64_t sequence = static_cast<int>(blockIdx.x) / d.splits;
    const std::int64_t column = std::int64_t{blockIdx.y} * d.head_dim;
    const Columns<width, lanes, parts> columns;
    float* shared = dynamic_shared_memory<float>();
    sum_keys(d, sequence, column, keys_of(d.keys(sequence), split, d.splits), columns)
        .write(shared + threadIdx.x / lanes * (d.head_dim + 2), d.head_dim, columns);
    __syncthreads();
    float* record =
        d.records + ((sequence * gridDim.y + blockIdx.y) * d.splits + split) * (d.head_dim + 2);
    for (int c = static_cast<int>(threadIdx.x); c < d.head_dim; c += threads) {
        const Softmax all = merge(shared, threads / lanes, d.head_dim, c);
        if (d.splits == 1) {
            d.out.data[sequence * d.out.stride + column + c] =
                narrow<T>(all.sum == 0.0f ? 0.0f : all.value / all.sum);
            continue;
        }
        if (c == 0) {
            record[0] = all.largest;
            record[1] = all.sum;
        }
        record[2 + c] = all.value;
    }
}

template <class T>
__global__ void __launch_bounds__(threads) merge_kernel(Decode<T> d) {
    const std::int64_t sequence = blockIdx.x;
    const float* records =
        d.records + (sequence * gridDim.y + blockIdx.y) * d.splits * (d.head_dim + 2);
    T* out = d.out.data + sequence * d.out.stride + std::int64_t{blockIdx.y} * d.head_dim;
    for (int c = static_cast<int>(threadIdx.x); c < d.head_dim; c += threads) {
        const Softmax all = merge(records, d.splits, d.head_dim, c);
        out[c] = narrow<T>(all.sum == 0.0f ? 0.0f : all.value / all.sum);
    }
}

template <class T, int width, int lanes, int parts>
void run(CudaContext& ctx, int heads, const Decode<T>& d) {
    const std::size_t bytes = sizeof(float) * (threads / lanes) * (d.head_dim + 2);
    const auto y = static_cast<unsigned>(heads);
    launch(ctx, decode_kernel<T, width, lanes, parts>,
           {dim3(blocks_for(d.q.rows * d.splits, 1), y), threads, bytes}, d);
    if (d.splits > 1) launch(ctx, merge_kernel<T>, {dim3(blocks_for(d.q.rows, 1), y), threads}, d);
}

template <class T>
void run(CudaContext& ctx, int heads, const Decode<T>& d) {
    constexpr int width = vector_width<T>, lanes = 8;
    const bool vectors = by_vectors(d.q.data, d.head_dim, d.q.stride) &&
                         by_vectors(d.k.data, d.head_dim, d.k.stride) &&
                         by_vectors(d.v.data, d.head_dim, d.v.stride);
    if (!vectors) return run<T, 1, 32, max_head_dim / 32>(ctx, heads, d);
    if (d.head_dim <= lanes * width) return run<T, width, lanes, 1>(ctx, heads, d);
    if (d.head_dim <= 2 * lanes * width) return run<T, width, lanes, 2>(ctx, heads, d);
    if (d.head_dim <= 4 * lanes * width) return run<T, width, lanes, 4>(ctx, heads, d);
    if constexpr (sizeof(T) == 4) run<T, width, lanes, 8>(ctx, heads, d);
}

// Returns how many blocks share a sequence, so that all multiprocessors have work. Only the device
// knows the lengths of the sequences; here only the number of cache rows bounds them.
int splits_for(const CudaContext& ctx, std::int64_t blocks, std::int64_t cache_rows) {
    const std::int64_t wanted = (2 * ctx.properties().multiprocessors + blocks - 1) / blocks;
    const std::int64_t useful = (cache_rows + least_keys - 1) / least_keys;
    return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, useful), 1, max_splits));
}

}  // namespace

template <class T>
void attention_decode(CudaContext& ctx, const AttentionDecode<T, CudaSpace>& o) {
    const int d = o.shape.head_dim, heads = o.shape.heads;
    require(d > 0 && d <= max_head_dim, "attention on GPUs: a head has 1 to 256 columns");
    check(o);
    if (o.out.empty()) return;
    const std::int64_t blocks = o.q.rows * heads;
    const std::int64_t most_keys = o.shape.window == 0
                                       ? o.k_cache.rows
                                       : std::min<std::int64_t>(o.k_cache.rows, o.shape.window);
    const int splits = splits_for(ctx, blocks, most_keys);
    const std::int64_t floats = splits > 1 ? blocks * splits * (d + 2) : 0;
    const float scale = AttentionBatch::log2_e / std::sqrt(static_cast<float>(d));
    run<T>(ctx, heads,
           {o.begin.data(), o.length.data(), o.q, o.k_cache, o.v_cache, o.out, d, splits,
            o.shape.heads_per_key(), o.shape.window, scale,
            ctx.scratch<float>(static_cast<std::size_t>(floats)).data()});
}

template void attention_decode(CudaContext&, const AttentionDecode<float, CudaSpace>&);
template void attention_decode(CudaContext&, const AttentionDecode<bf16, CudaSpace>&);
template void attention_decode(CudaContext&, const AttentionDecode<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
