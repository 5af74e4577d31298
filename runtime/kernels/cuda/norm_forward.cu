// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/dropout_mask.hpp"
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/cuda/primitives/row_warps.hpp"
#include "runtime/kernels/norm_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Forward {
    Mask mask;
    CudaMatrix<const T> x, branch;  // branch and sum may be empty
    const T *gamma, *beta;
    CudaMatrix<T> sum, y;
    float *mean, *rstd;
    float epsilon;
};

// Keeps a warp's row and returns its sum. The row is rounded to T, because backward sees no other
// value. A lane reads several vectors before it writes one, since the sum may be written to the
// memory that is read.
template <int width, Masking masking, class T>
__device__ __forceinline__ float keep_row(const Forward<T>& f, std::int64_t row, T* kept) {
    constexpr int ahead = masking == Masking::on ? 3 : 4;  // limited by registers
    constexpr int step = warp_size * width;
    const MaskedToken token = masked_token<masking>(f.mask, row);
    const std::int64_t cols = f.x.cols;
    float total = 0;
    for (std::int64_t first = threadIdx.x % warp_size * width; first < cols;
         first += ahead * step) {
        Packed<width, T> x[ahead], branch[ahead];
#pragma unroll
        for (int v = 0; v < ahead; ++v) {
            const std::int64_t j = first + v * step;
            if (j < cols) load(at(f.x, {row, j}), x[v]);
            if (j < cols && f.branch.data != nullptr) load(at(f.branch, {row, j}), branch[v]);
        }
#pragma unroll
        for (int v = 0; v < ahead; ++v) {
            const std::int64_t j = first + v * step;
            if (j >= cols) break;
            float values[width];
            unpack(x[v], values);
            if (f.branch.data != nullptr) {
                float added[width];
                unpack(branch[v], added);
                apply_mask<masking>(f.mask, token, j, added);
#pragma unroll
                for (int k = 0; k < width; ++k) values[k] = widen(narrow<T>(values[k] + added[k]));
            }
            store(kept + j, values);
            if (f.sum.data != nullptr) store(at(f.sum, {row, j}), values);
#pragma unroll
            for (int k = 0; k < width; ++k) total += values[k];
        }
    }
    return warp_reduce<Sum>(total);
}

// Calculates the mean first, then the variance around it: E[x^2] - E[x]^2 loses all precision if
// |mean| >> std. The rms norm has no mean.
template <int width, Masking masking, NormKind kind, class T>
__global__ void __launch_bounds__(max_row_warps* warp_size, 3)
    norm_forward_kernel(Forward<T> f, std::int64_t kept_elements) {
    const unsigned warp = threadIdx.x / warp_size;
    const std::int64_t row = std::int64_t{blockIdx.x} * (blockDim.x / warp_size) + warp;
    if (row >= f.x.rows) return;
    T* kept = dynamic_shared_memory<T>() + warp * kept_elements;
    const auto cols = static_cast<float>(f.x.cols);
    const float total = keep_row<width, masking>(f, row, kept);
    const float mean = kind == NormKind::rms ? 0.0f : total / cols;
    float squares = 0;
    for_lane_columns<width>(f.x.cols, [&](std::int64_t j) {
        float values[width];
        load(kept + j, values);
#pragma unroll
        for (int k = 0; k < width; ++k) squares += (values[k] - mean) * (values[k] - mean);
    });
    const float rstd = 1.0f / sqrtf(warp_reduce<Sum>(squares) / cols + f.epsilon);
    for_lane_columns<width>(f.x.cols, [&](std::int64_t j) {
        float values[width], gamma[width], beta[width];
        load(kept + j, values);
        load(f.gamma + j, gamma);
        if constexpr (kind == NormKind::layer) load(f.beta + j, beta);
#pragma unroll
        for (int k = 0; k < width; ++k)
            if constexpr (kind == NormKind::rms)
                values[k] = widen(narrow<T>(values[k] * rstd)) * gamma[k];
            else
                values[k] = (values[k] - mean) * rstd * gamma[k] + beta[k];
        store(at(f.y, {row, j}), values);
    });
    if (threadIdx.x % warp_size != 0) return;
    if constexpr (kind == NormKind::layer) f.mean[row] = mean;
    f.rstd[row] = rstd;
}

template <int width, NormKind kind, class T>
void run(CudaContext& ctx, const Forward<T>& f) {
    const std::size_t bytes = row_bytes<T>(f.x.cols);
    const int warps = row_warps(ctx, bytes);
    launch(ctx,
           f.mask.state == nullptr ? norm_forward_kernel<width, Masking::off, kind, T>
                                   : norm_forward_kernel<width, Masking::on, kind, T>,
           {blocks_for(f.x.rows, warps), static_cast<unsigned>(warps * warp_size),
            static_cast<std::size_t>(warps) * bytes},
           f, static_cast<std::int64_t>(bytes / sizeof(T)));
}

template <int width, class T>
void run(CudaContext& ctx, NormKind kind, const Forward<T>& f) {
    if (kind == NormKind::rms) return run<width, NormKind::rms>(ctx, f);
    run<width, NormKind::layer>(ctx, f);
}

}  // namespace

template <class T>
void norm_forward(CudaContext& ctx, const NormForward<T, CudaSpace>& o) {
    check(o);
    const Forward<T> f{o.branch.empty() ? Mask{} : mask_of(o.dropout, o.coordinates, o.x.rows),
                       o.x,
                       o.branch.empty() ? CudaMatrix<const T>{} : o.branch,
                       o.gamma.data(),
                       o.beta.data(),
                       o.sum.empty() ? CudaMatrix<T>{} : o.sum,
                       o.y,
                       o.mean.data(),
                       o.rstd.data(),
                       o.epsilon};
    if (by_vectors(f.x) && by_vectors(f.branch) && by_vectors(f.sum) && by_vectors(f.y) &&
        by_vectors(f.gamma, f.x.cols, f.x.cols) && by_vectors(f.beta, f.x.cols, f.x.cols))
        run<vector_width<T>>(ctx, o.kind, f);
    else
        run<1>(ctx, o.kind, f);
}

template void norm_forward(CudaContext&, const NormForward<float, CudaSpace>&);
template void norm_forward(CudaContext&, const NormForward<bf16, CudaSpace>&);
template void norm_forward(CudaContext&, const NormForward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
