// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "instructions/memory.hpp"
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_mma_gradients.hpp"
#include "runtime/kernels/cuda/primitives/column_sums.hpp"

// This kernel is for short sequences: a block holds a whole sequence in shared memory, so the
// gradients of its scores stay there, and one launch calculates delta, dK, dV and dQ. A group of 4
// warps has a tile of keys, then a tile of queries. The order of the sums is that of the kernels
// for long sequences, so the bits are the same.
namespace lockstep::kernels::cuda {

namespace {

constexpr int short_tiles = 2;    // maximum for one sequence
constexpr int filler_blocks = 8;  // for each head

// Tells what a block calculates and where it writes the sums over its rows.
template <class T>
struct ShortBackward {
    AttentionBatch batch;
    BackwardMatrices<T> m;
    int key_tiles, query_tiles;
    float* sums;  // [sequences, 3, heads * head_dim] for dq, dk and dv; null: not needed
};

// Describes a block's shared memory.
template <class T, int width>
struct ShortMemory {
    static constexpr int step = query_tile<width>;
    static constexpr int scores = mma_tile * mma_tile;
    int key_tiles, query_tiles;

    __device__ __forceinline__ SharedRows<T, width> k(int tile) const {
        return {dynamic_shared_memory<T>() + tile * mma_tile * width};
    }
    __device__ __forceinline__ SharedRows<T, width> v(int tile) const {
        return k(key_tiles + tile);
    }
    // Returns a tile's queries, followed by as many rows with their gradients of outputs.
    __device__ __forceinline__ SharedRows<T, width> queries(int tile) const {
        return k(2 * (key_tiles + tile));
    }
    __device__ __forceinline__ T* gradients(int key_tile, int tile) const {
        return queries(query_tiles).data + (key_tile * query_tiles + tile) * scores;
    }
    // Returns the queries that are processed at once; `number` counts through all tiles.
    __device__ __forceinline__ QueryTile<T, width> part(int number) const {
        auto* shifts = reinterpret_cast<float*>(gradients(key_tiles, 0));
        return {queries(0).after(number * 2 * step), shifts + number * 2 * step};
    }
    static std::size_t bytes(int key_tiles, int query_tiles) {
        const int rows = 2 * mma_tile * (key_tiles + query_tiles);
        return sizeof(T) *
                   static_cast<std::size_t>(rows * width + key_tiles * query_tiles * scores) +
               sizeof(float) * static_cast<std::size_t>(2 * mma_tile * query_tiles);
    }
};

// Returns the group's tile of one side of the block's sequence; it may have no rows.
template <Side side>
__device__ __forceinline__ AttentionTile group_tile(const AttentionBatch& batch) {
    const auto sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
    const RaggedSide& own = side == Side::queries ? batch.queries : batch.keys;
    const RaggedSide& other = side == Side::queries ? batch.keys : batch.queries;
    const int begin = own.offsets[sequence], other_begin = other.offsets[sequence];
    const int left = own.offsets[sequence + 1] - begin - static_cast<int>(threadIdx.y) * mma_tile;
    return {begin,
            other_begin,
            static_cast<int>(threadIdx.y) * mma_tile,
            left < 0          ? 0
            : left < mma_tile ? left
                              : mma_tile,
            other.offsets[sequence + 1] - other_begin,
            sequence,
            head};
}

template <class T>
__device__ __forceinline__ void clear_filler(const ShortBackward<T>& b) {
    const AttentionBatch& batch = b.batch;
    const auto head = static_cast<int>(blockIdx.y);
    const unsigned number =
        (blockIdx.x - static_cast<unsigned>(batch.sequences)) * blockDim.y + threadIdx.y;
    const std::int64_t step = std::int64_t{filler_blocks} * blockDim.y * mma_tile;
    const auto clear = [&](const CudaMatrix<T>& m, const RaggedSide& side) {
        for (std::int64_t first = side.offsets[batch.sequences] + std::int64_t{number} * mma_tile;
             first < side.total; first += step)
            clear_rows<mma_tile>(m, first, side.total, head, batch.head_dim);
    };
    clear(b.m.dq, batch.queries);
    clear(b.m.dk, batch.keys);
    clear(b.m.dv, batch.keys);
}

// Stores log-sum-exp and delta of the group's queries in the layout of part().
template <class T, int width>
__device__ __forceinline__ void store_shifts(const ShortBackward<T>& b, const AttentionTile& at,
                                             const ShortMemory<T, width>& memory) {
    constexpr int lanes = 8, at_once = mma_threads / lanes;
    constexpr int step = ShortMemory<T, width>::step, vector = vector_width<T>;
    const auto lane = static_cast<int>(threadIdx.x) % lanes;
    for (int i = static_cast<int>(threadIdx.x) / lanes; i < mma_tile; i += at_once) {
        const bool inside = i < at.count;
        const std::int64_t row = at.first_row() + i;
        float delta = 0.0f;
        for (int c = lane * vector; inside && c < b.batch.head_dim; c += lanes * vector) {
            const std::int64_t column = at.head * b.batch.head_dim + c;
            float x[vector], y[vector];
            load(b.m.out.data + row * b.m.out.stride + column, x);
            load(b.m.d_out.data + row * b.m.d_out.stride + column, y);
#pragma unroll
            for (int j = 0; j < vector; ++j) delta += x[j] * y[j];
        }
#pragma unroll
        for (int distance = lanes / 2; distance > 0; distance /= 2)
            delta += __shfl_xor_sync(0xFFFFFFFFu, delta, distance, lanes);
        if (lane != 0) continue;
        const int query = at.first + i;
        float* shifts = memory.part(query / step).shifts + query % step;
        shifts[0] = inside ? b.m.log_sum_exp.at(at.head, row) * AttentionBatch::log2_e : INFINITY;
        shifts[step] = inside ? delta * b.batch.scale : 0.0f;
    }
}

// Writes the sums over the warp's rows below `count` to to[width], which may be the memory through
// which the warp stored its rows.
template <int width>
__device__ __forceinline__ void store_sums(const float (&values)[1][width / 8][4], int count,
                                           float* to) {
    const int row = warp_number() * 16 + lane_row();
    const bool first = row < count, second = row + 8 < count;
#pragma unroll
    for (int n = 0; n < width / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            float sum = (first ? values[0][n][e] : 0.0f) + (second ? values[0][n][2 + e] : 0.0f);
#pragma unroll
            for (int distance = 16; distance > 2; distance /= 2)
                sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
            if (lane_row() == 0) to[n * 8 + lane_column() + e] = sum;
        }
}

// Returns a warp's sums: they lie in the rows of shared memory through which it stored its
// gradients.
template <class T, int width>
__device__ __forceinline__ float* warp_sums(const SharedRows<T, width>& rows, int warp) {
    return reinterpret_cast<float*>(rows.after(warp * 16).data);
}

// Calculates dK and dV of the group's keys. The rows of V are not needed afterwards.
template <Masking masking, class T, int width>
__device__ __forceinline__ void backward_by_keys(const ShortBackward<T>& b, const AttentionTile& at,
                                                 const ShortMemory<T, width>& memory) {
    constexpr int step = ShortMemory<T, width>::step;
    const AttentionBatch& batch = b.batch;
    const int own = warp_number() * 16, number = at.first / mma_tile;
    const SharedRows<T, width> k = memory.k(number), v = memory.v(number);
    const HeadMask<masking> mask(batch, at);
    float dk[1][width / 8][4] = {}, dv[1][width / 8][4] = {};
#pragma unroll 1
    for (int first = batch.mask == kernels::Mask::none ? 0 : at.first; first < at.others;
         first += step) {
        const QueryTile<T, width> part = memory.part(first / step);
        float p[1][step / 8][4], ds[1][step / 8][4];
        multiply_tiles<1, step>(k, own, part.q, p);
        multiply_tiles<1, step>(v, own, part.d_out(), ds);
        gradients_of_scores(batch, mask, at.first + own, first, part, p, ds);
        add_product<1, step>(p, part.d_out(), dv);
        store_gradients(memory.gradients(number, first / mma_tile), first, own, at.count, ds);
        add_product<1, step>(ds, part.q, dk);
    }
    __syncwarp();
    scale_values(dv, batch.dropout.scale);
    store_rows<1, T, width>(dk, v, b.m.dk, at.first_row(), at.count, at.head, batch.head_dim);
    store_rows<1, T, width>(dv, v, b.m.dv, at.first_row(), at.count, at.head, batch.head_dim);
    if (b.sums == nullptr) return;
    store_sums<width>(dk, at.count, warp_sums(v, warp_number()));
    store_sums<width>(dv, at.count, warp_sums(v, warp_number()) + width);
}

// Calculates dQ of the group's queries. Their rows are not needed afterwards.
template <class T, int width>
__device__ __forceinline__ void backward_by_queries(const ShortBackward<T>& b,
                                                    const AttentionTile& at,
                                                    const ShortMemory<T, width>& memory) {
    const int keys = visible_keys(b.batch, at), own = warp_number() * 16;
    const int number = at.first / mma_tile;
    float dq[1][width / 8][4] = {};
#pragma unroll 1
    for (int tile = 0; tile * mma_tile < keys; ++tile)
#pragma unroll
        for (int part = 0; part < mma_tile / 16; ++part) {
            std::uint32_t gradients[1][4];
            load_gradients(memory.gradients(tile, number), own, part, gradients[0]);
            add_part(gradients, memory.k(tile), part, dq);
        }
    const SharedRows<T, width> rows = memory.queries(number);
    store_rows<1, T, width>(dq, rows, b.m.dq, at.first_row(), at.count, at.head, b.batch.head_dim);
    if (b.sums != nullptr) store_sums<width>(dq, at.count, warp_sums(rows, warp_number()));
}

// Adds up the sequence's sums over rows, warp after warp.
template <class T, int width>
__device__ __forceinline__ void add_sums(const ShortBackward<T>& b, int queries, int keys,
                                         const ShortMemory<T, width>& memory) {
    const AttentionBatch& batch = b.batch;
    const std::int64_t cols = std::int64_t{batch.heads} * batch.head_dim;
    const auto threads = static_cast<int>(blockDim.x * blockDim.y);
    float* to = b.sums + std::int64_t{blockIdx.x} * 3 * cols + blockIdx.y * batch.head_dim;
    for (int c = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); c < batch.head_dim;
         c += threads) {
        float dq = 0, dk = 0, dv = 0;
        for (int row = 0; row < queries; row += 16)
            dq += warp_sums(memory.queries(row / mma_tile), row % mma_tile / 16)[c];
        for (int row = 0; row < keys; row += 16) {
            const float* sums = warp_sums(memory.v(row / mma_tile), row % mma_tile / 16);
            dk += sums[c];
            dv += sums[width + c];
        }
        to[c] = dq;
        to[cols + c] = dk;
        to[2 * cols + c] = dv;
    }
}

template <class T, int width, Masking masking>
__global__ void __launch_bounds__(short_tiles* mma_threads, 1)
    short_kernel(const __grid_constant__ ShortBackward<T> b) {
    const AttentionBatch& batch = b.batch;
    if (static_cast<int>(blockIdx.x) >= batch.sequences) return clear_filler(b);
    const ShortMemory<T, width> memory{b.key_tiles, b.query_tiles};
    const AttentionTile keys = group_tile<Side::keys>(batch);
    const AttentionTile queries = group_tile<Side::queries>(batch);
    const auto group = static_cast<int>(threadIdx.y);
    if (keys.count > 0) {
        copy_rows<mma_tile>(memory.k(group), b.m.k, keys.first_row(), keys.count, keys.head,
                            batch.head_dim);
        copy_rows<mma_tile>(memory.v(group), b.m.v, keys.first_row(), keys.count, keys.head,
                            batch.head_dim);
    }
    if (queries.count > 0) {
        constexpr int step = ShortMemory<T, width>::step;
        for (int first = queries.first; first < queries.first + mma_tile; first += step)
            memory.part(first / step).begin_copy(batch, b.m, keys, first);
        end_copy_group();
        store_shifts(b, queries, memory);
    }
    end_copy_group();
    wait_copies<0>();
    __syncthreads();
    if (keys.count > 0) backward_by_keys<masking>(b, keys, memory);
    __syncthreads();
    if (queries.count > 0) backward_by_queries(b, queries, memory);
    if (b.sums == nullptr) return;
    __syncthreads();
    add_sums(b, keys.others, queries.others, memory);
}

template <class T, int width>
bool run(CudaContext& ctx, ShortBackward<T> b, const AttentionBiases<CudaSpace>& biases) {
    const std::size_t bytes = ShortMemory<T, width>::bytes(b.key_tiles, b.query_tiles);
    if (bytes > ctx.properties().max_shared_bytes) return false;
    const AttentionBatch& batch = b.batch;
    CudaMatrix<float> sums;
    if (!biases.q.empty()) {
        sums = parts_memory(ctx, batch.sequences, std::int64_t{3} * batch.heads * batch.head_dim);
        b.sums = sums.data;
    }
    const auto groups = static_cast<unsigned>(std::max(b.key_tiles, b.query_tiles));
    launch(ctx,
           batch.dropout.state == nullptr ? short_kernel<T, width, Masking::off>
                                          : short_kernel<T, width, Masking::on>,
           {{blocks_for(batch.sequences + filler_blocks, 1), static_cast<unsigned>(batch.heads)},
            {mma_threads, groups},
            bytes},
           b);
    if (!biases.q.empty())
        sum_parts_by_column(ctx, sums, {biases.q, biases.k, biases.v}, biases.into);
    return true;
}

}  // namespace

template <class T>
bool mma_backward_short(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                        const AttentionBiases<CudaSpace>& biases) {
    const ShortBackward<T> b{batch, m, tiles_of(batch.keys, mma_tile),
                             tiles_of(batch.queries, mma_tile), nullptr};
    if (std::min(b.key_tiles, b.query_tiles) == 0 ||
        std::max(b.key_tiles, b.query_tiles) > short_tiles)
        return false;
    if (batch.head_dim <= 32) return run<T, 32>(ctx, b, biases);
    if (batch.head_dim <= 64) return run<T, 64>(ctx, b, biases);
    return run<T, max_mma_head_dim>(ctx, b, biases);
}

template bool mma_backward_short(CudaContext&, const AttentionBatch&, const BackwardMatrices<bf16>&,
                                 const AttentionBiases<CudaSpace>&);
template bool mma_backward_short(CudaContext&, const AttentionBatch&, const BackwardMatrices<fp16>&,
                                 const AttentionBiases<CudaSpace>&);

}  // namespace lockstep::kernels::cuda
