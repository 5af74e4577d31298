// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/column_sums.hpp"
#include "runtime/kernels/cuda/primitives/index.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"
#include "runtime/kernels/head_norm_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 256;
constexpr int lanes = 8;  // lanes per head; they read 128 bytes at once

// The heads of a matrix [rows, heads * head_dim], counted row by row.
template <class T>
struct Heads {
    CudaMatrix<T> of;
    int heads, head_dim;

    __device__ __forceinline__ T* at(std::int64_t head) const {
        const Cell cell = vector_cell(head, heads, 1);
        return of.data + cell.row * of.stride + cell.col * head_dim;
    }
    __device__ __forceinline__ std::int64_t count() const { return of.rows * heads; }
};

// Sums over the lanes of a head.
__device__ __forceinline__ float head_sum(float value) {
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(whole_warp, value, distance, lanes);
    return value;
}

// Returns the head of this thread's lanes.
__device__ __forceinline__ std::int64_t own_head() {
    return (std::int64_t{blockIdx.x} * threads + threadIdx.x) / lanes;
}

// Calls body(column) for this lane's vectors of a head.
template <int width, class Body>
__device__ __forceinline__ void for_own_columns(int head_dim, const Body& body) {
    for (int c = static_cast<int>(threadIdx.x) % lanes * width; c < head_dim; c += lanes * width)
        body(c);
}

template <int width, class T>
__global__ void __launch_bounds__(threads)
    head_norm_kernel(Heads<const T> x, const T* gamma, float epsilon, Heads<T> y, float* rstd) {
    const std::int64_t head = own_head();
    // Shuffles need every lane, so lanes past the end do not return.
    const bool inside = head < x.count();
    const T* const from = inside ? x.at(head) : nullptr;
    float squares = 0.0f;
    if (inside)
        for_own_columns<width>(x.head_dim, [&](int c) {
            float values[width];
            load(from + c, values);
#pragma unroll
            for (int j = 0; j < width; ++j) squares += values[j] * values[j];
        });
    const float by = 1.0f / sqrtf(head_sum(squares) / static_cast<float>(x.head_dim) + epsilon);
    if (!inside) return;
    T* const to = y.at(head);
    for_own_columns<width>(x.head_dim, [&](int c) {
        float values[width], weights[width];
        load(from + c, values);
        load(gamma + c, weights);
#pragma unroll
        for (int j = 0; j < width; ++j) values[j] = widen(narrow<T>(values[j] * by)) * weights[j];
        store(to + c, values);
    });
    if (threadIdx.x % lanes == 0) rstd[head] = by;
}

// Let h = x rstd and g = dy gamma; then dx = rstd (g - h mean(g h)). A lane reads its columns of dy
// again before it writes them.
template <int width, class T>
__global__ void __launch_bounds__(threads)
    head_norm_backward_kernel(Heads<const T> dy, Heads<const T> x, const float* rstd,
                              const T* gamma, Heads<T> dx) {
    const std::int64_t head = own_head();
    const bool inside = head < x.count();
    const T* const x_head = inside ? x.at(head) : nullptr;
    const T* const dy_head = inside ? dy.at(head) : nullptr;
    const float by = inside ? rstd[head] : 0.0f;
    float total = 0.0f;
    if (inside)
        for_own_columns<width>(x.head_dim, [&](int c) {
            float values[width], gradients[width], weights[width];
            load(x_head + c, values);
            load(dy_head + c, gradients);
            load(gamma + c, weights);
#pragma unroll
            for (int j = 0; j < width; ++j) total += gradients[j] * weights[j] * (values[j] * by);
        });
    const float mean = head_sum(total) / static_cast<float>(x.head_dim);
    if (!inside) return;
    T* const to = dx.at(head);
    for_own_columns<width>(x.head_dim, [&](int c) {
        float values[width], gradients[width], weights[width];
        load(x_head + c, values);
        load(dy_head + c, gradients);
        load(gamma + c, weights);
#pragma unroll
        for (int j = 0; j < width; ++j)
            gradients[j] = by * (gradients[j] * weights[j] - values[j] * by * mean);
        store(to + c, gradients);
    });
}

// A body for column_sums(), whose rows are heads: adds dy h.
template <class T>
struct WeightGradient {
    static constexpr int vectors = 2;
    template <int width>
    struct Read {
        float terms[width];
    };

    Heads<const T> dy, x;
    const float* rstd;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r;
        float values[width];
        load(x.at(cell.row) + cell.col, values);
        load(dy.at(cell.row) + cell.col, r.terms);
#pragma unroll
        for (int j = 0; j < width; ++j) r.terms[j] *= values[j] * rstd[cell.row];
        return r;
    }
    template <int width>
    __device__ __forceinline__ void add(Cell, const Read<width>& r, float (&sums)[width]) const {
#pragma unroll
        for (int j = 0; j < width; ++j) sums[j] += r.terms[j];
    }
};

// Returns whether the heads of all matrices can be read by vectors.
template <class T, class... Matrices>
bool heads_by_vectors(int head_dim, const T* gamma, const Matrices&... m) {
    return by_vectors(gamma, head_dim, head_dim) && (by_vectors(m.data, head_dim, m.stride) && ...);
}

}  // namespace

template <class T>
void head_norm_forward(CudaContext& ctx, const HeadNormForward<T, CudaSpace>& o) {
    check(o);
    const auto heads = static_cast<int>(o.x.cols / o.head_dim);
    const bool vectors = heads_by_vectors(o.head_dim, o.gamma.data(), o.x, o.y);
    launch(ctx, vectors ? head_norm_kernel<vector_width<T>, T> : head_norm_kernel<1, T>,
           {blocks_for(o.x.rows * heads * lanes, threads), threads},
           Heads<const T>{o.x, heads, o.head_dim}, o.gamma.data(), o.epsilon,
           Heads<T>{o.y, heads, o.head_dim}, o.rstd.data());
}

template <class T>
void head_norm_backward(CudaContext& ctx, const HeadNormBackward<T, CudaSpace>& o) {
    check(o);
    const auto heads = static_cast<int>(o.x.cols / o.head_dim);
    const Heads<const T> dy{o.dy, heads, o.head_dim}, x{o.x, heads, o.head_dim};
    // Before dx, which may be dy. column_sums() looks at this shape, and at what vectors allow.
    const CudaMatrix<const T> x_heads{o.x.data, o.x.rows * heads, o.head_dim, o.x.stride};
    const CudaMatrix<const T> dy_heads{o.dy.data, o.dy.rows * heads, o.head_dim, o.dy.stride};
    column_sums(ctx, WeightGradient<T>{dy, x, o.rstd.data()}, o.dgamma, o.into, x_heads, dy_heads);
    const bool vectors = heads_by_vectors(o.head_dim, o.gamma.data(), o.x, o.dy, o.dx);
    launch(
        ctx,
        vectors ? head_norm_backward_kernel<vector_width<T>, T> : head_norm_backward_kernel<1, T>,
        {blocks_for(o.x.rows * heads * lanes, threads), threads}, dy, x, o.rstd.data(),
        o.gamma.data(), Heads<T>{o.dx, heads, o.head_dim});
}

template void head_norm_forward(CudaContext&, const HeadNormForward<float, CudaSpace>&);
template void head_norm_forward(CudaContext&, const HeadNormForward<bf16, CudaSpace>&);
template void head_norm_forward(CudaContext&, const HeadNormForward<fp16, CudaSpace>&);
template void head_norm_backward(CudaContext&, const HeadNormBackward<float, CudaSpace>&);
template void head_norm_backward(CudaContext&, const HeadNormBackward<bf16, CudaSpace>&);
template void head_norm_backward(CudaContext&, const HeadNormBackward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
