// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/cuda/primitives/id_order.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/embedding_checks.hpp"
#include "runtime/kernels/reduce.hpp"

// Tokens are sorted by id, so that the rows of one id follow each other. One warp for each 32
// vectors of columns sums them in chunks of 32. If an id began in the previous chunk or continues
// in the next one, the chunk's sum for it is stored in `parts` for the second kernel. Filler comes
// last.
namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int chunk_rows = 32, threads = 128, warps = threads / warp_size, ahead = 4;

template <class T>
struct Backward {
    IdOrder sorted;
    std::int64_t count;
    float scale;
    CudaMatrix<const T> dy;
    CudaMatrix<float> d_table;
    // [chunks, 2, cols]: sums for the id from the previous chunk and for the one that continues
    float* parts;

    // Tells whether p has the same id as p - 1.
    __device__ __forceinline__ bool continues(std::int64_t p) const {
        return p > 0 && p < count && sorted.ids[p] == sorted.ids[p - 1];
    }
    __device__ __forceinline__ float* came(std::int64_t chunk) const {
        return parts + chunk * 2 * dy.cols;
    }
    __device__ __forceinline__ float* goes_on(std::int64_t chunk) const {
        return came(chunk) + dy.cols;
    }
    __device__ __forceinline__ bool in_table(std::int64_t p) const {
        return sorted.ids[p] < d_table.rows;
    }
};

template <int width>
__device__ __forceinline__ void add_to(float* total, const float (&sum)[width]) {
    float values[width];
    load(total, values);
#pragma unroll
    for (int j = 0; j < width; ++j) values[j] += sum[j];
    store(total, values);
}

// Adds the sum of rows [begin, end) of one id to the table, or stores it in `parts`.
template <int width, class T>
__device__ __forceinline__ void flush(const Backward<T>& b, std::int64_t chunk, std::int64_t begin,
                                      std::int64_t end, std::int64_t column,
                                      const float (&sum)[width]) {
    if (b.continues(begin))
        store(b.came(chunk) + column, sum);
    else if (b.continues(end))
        store(b.goes_on(chunk) + column, sum);
    else if (b.in_table(begin))
        add_to(b.d_table.data + b.sorted.ids[begin] * b.d_table.stride + column, sum);
}

template <int width, class T>
__global__ void __launch_bounds__(threads) sum_chunks_kernel(Backward<T> b) {
    const std::int64_t chunk = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
    const std::int64_t column =
        (std::int64_t{blockIdx.y} * warp_size + threadIdx.x % warp_size) * width;
    const std::int64_t first = chunk * chunk_rows;
    const std::int64_t end = first + chunk_rows < b.count ? first + chunk_rows : b.count;
    if (first >= b.count || column >= b.dy.cols || !b.in_table(first)) return;
    float sum[width] = {};
    std::int64_t begin = first;
    for (std::int64_t p = first; p < end; p += ahead) {
        Packed<width, T> rows[ahead];  // several loads in flight
#pragma unroll
        for (int i = 0; i < ahead; ++i)
            if (p + i < end) load(at(b.dy, {b.sorted.order[p + i], column}), rows[i]);
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
            if (p + i >= end) break;
            if (p + i > begin && !b.continues(p + i)) {
                flush(b, chunk, begin, p + i, column, sum);
                begin = p + i;
#pragma unroll
                for (int j = 0; j < width; ++j) sum[j] = 0;
            }
            float values[width];
            unpack(rows[i], values);
#pragma unroll
            for (int j = 0; j < width; ++j) sum[j] += b.scale * values[j];
        }
    }
    flush(b, chunk, begin, end, column, sum);
}

// Adds, in order, the parts of `count` chunks into which an id continues.
template <int count, int width, class T>
__device__ __forceinline__ void add_parts(const Backward<T>& b, std::int64_t chunk,
                                          std::int64_t column, float (&sum)[width]) {
    float parts[count][width];
#pragma unroll
    for (int i = 0; i < count; ++i) load(b.came(chunk + i) + column, parts[i]);
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll
        for (int j = 0; j < width; ++j) sum[j] += parts[i][j];
}

// Adds the parts of each id that begins in a chunk and continues, in order. The most frequent word
// of a batch has a hundred of them.
template <int width, class T>
__global__ void __launch_bounds__(threads) join_chunks_kernel(Backward<T> b) {
    constexpr int at_once = 8;
    std::int64_t chunk = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
    const std::int64_t column =
        (std::int64_t{blockIdx.y} * warp_size + threadIdx.x % warp_size) * width;
    const std::int64_t next = (chunk + 1) * chunk_rows;
    if (next >= b.count || column >= b.dy.cols || !b.continues(next) || !b.in_table(next)) return;
    const std::uint32_t id = b.sorted.ids[next];
    const std::int64_t first = chunk * chunk_rows;
    // an earlier chunk has its beginning
    if (b.continues(first) && b.sorted.ids[first] == id) return;
    const auto reaches = [&](std::int64_t other) {
        const std::int64_t p = other * chunk_rows;
        return p < b.count && b.sorted.ids[p] == id;
    };
    float sum[width];
    load(b.goes_on(chunk) + column, sum);
    ++chunk;
    for (; reaches(chunk + at_once - 1); chunk += at_once)
        add_parts<at_once>(b, chunk, column, sum);
    for (; reaches(chunk); ++chunk) add_parts<1>(b, chunk, column, sum);
    add_to(b.d_table.data + id * b.d_table.stride + column, sum);
}

template <int width, class T>
void run(CudaContext& ctx, const Backward<T>& b) {
    const std::int64_t chunks = (b.count + chunk_rows - 1) / chunk_rows;
    const Grid grid({blocks_for(chunks, warps), blocks_for(b.dy.cols, warp_size * width)}, threads);
    launch(ctx, sum_chunks_kernel<width, T>, grid, b);
    launch(ctx, join_chunks_kernel<width, T>, grid, b);
}

}  // namespace

template <class T>
void embedding_backward(CudaContext& ctx, const EmbeddingBackward<T, CudaSpace>& o) {
    check(o);
    const std::int64_t count = o.dy.rows;
    if (o.into == Into::overwrite) fill_zero(ctx, o.d_table);
    if (count == 0 || o.dy.cols == 0) return;
    const std::size_t order_words =
        (id_order_words(count) + 3) / 4 * 4;  // parts are read by vectors, so they are aligned
    const auto chunks = static_cast<std::size_t>((count + chunk_rows - 1) / chunk_rows);
    const auto scratch =
        ctx.scratch<std::uint32_t>(order_words + chunks * 2 * static_cast<std::size_t>(o.dy.cols));
    const IdList list{o.tokens.data(), o.real.data(),  count,
                      o.d_table.rows,  o.slots.data(), static_cast<std::int64_t>(o.slots.size())};
    const IdOrder sorted = order_by_id(ctx, list, scratch.subview(0, order_words));
    const Backward<T> b{sorted, count,     o.scale,
                        o.dy,   o.d_table, reinterpret_cast<float*>(scratch.data() + order_words)};
    if (by_vectors(b.dy) && by_vectors(b.d_table))
        run<vector_width<T>>(ctx, b);
    else
        run<1>(ctx, b);
}

template void embedding_backward(CudaContext&, const EmbeddingBackward<float, CudaSpace>&);
template void embedding_backward(CudaContext&, const EmbeddingBackward<bf16, CudaSpace>&);
template void embedding_backward(CudaContext&, const EmbeddingBackward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
