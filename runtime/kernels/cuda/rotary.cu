// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/index.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"
#include "runtime/kernels/rotary_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 256;

template <class T>
struct Rotation {
    const std::int32_t* positions;
    const float* frequencies;
    float scale, sine_scale;  // sine_scale has the turn's sign
    int pairs, heads, head_dim;
    CudaMatrix<T> x;
};

// A thread turns one pair of columns of all heads of a row, so that it calculates one angle.
template <class T>
__global__ void __launch_bounds__(threads) rotate_kernel(Rotation<T> r) {
    constexpr int ahead = 4;
    const Cell cell = vector_cell(std::int64_t{blockIdx.x} * threads + threadIdx.x, r.pairs, 1);
    if (cell.row >= r.x.rows) return;
    float sine, cosine;
    sincosf(static_cast<float>(r.positions[cell.row]) * r.frequencies[cell.col], &sine, &cosine);
    sine *= r.sine_scale;
    cosine *= r.scale;
    T* const first = r.x.data + cell.row * r.x.stride + cell.col;
    for (int head = 0; head < r.heads; head += ahead) {
        float a[ahead] = {}, b[ahead] = {};
#pragma unroll
        for (int h = 0; h < ahead; ++h) {
            if (head + h >= r.heads) break;
            const T* const pair = first + (head + h) * r.head_dim;
            a[h] = widen(pair[0]);
            b[h] = widen(pair[r.pairs]);
        }
#pragma unroll
        for (int h = 0; h < ahead; ++h) {
            if (head + h >= r.heads) break;
            T* const pair = first + (head + h) * r.head_dim;
            pair[0] = narrow<T>(a[h] * cosine - b[h] * sine);
            pair[r.pairs] = narrow<T>(b[h] * cosine + a[h] * sine);
        }
    }
}

}  // namespace

template <class T>
void rotate(CudaContext& ctx, const Rotary<T, CudaSpace>& o) {
    check(o);
    const auto pairs = static_cast<int>(o.frequencies.size());
    if (pairs == 0) return;
    launch(ctx, rotate_kernel<T>, {blocks_for(o.x.rows * pairs, threads), threads},
           Rotation<T>{o.positions.data(), o.frequencies.data(), o.scale,
                       o.turn == Turn::forward ? o.scale : -o.scale, pairs,
                       static_cast<int>(o.x.cols / o.head_dim), o.head_dim, o.x});
}

template void rotate(CudaContext&, const Rotary<float, CudaSpace>&);
template void rotate(CudaContext&, const Rotary<bf16, CudaSpace>&);
template void rotate(CudaContext&, const Rotary<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
