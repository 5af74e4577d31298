// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/dropout_mask.hpp"
#include "runtime/kernels/cuda/index.hpp"
#include "runtime/kernels/cuda/launch.hpp"
#include "runtime/kernels/cuda/vector.hpp"
#include "runtime/kernels/dropout.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 256;

template <int width, Masking masking, class T>
__global__ void __launch_bounds__(threads)
    dropout_kernel(Mask mask, CudaMatrix<const T> x, CudaMatrix<T> y) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= vector_cells(x.rows, x.cols, width)) return;
    const Cell at = vector_cell(i, x.cols, width);
    float values[width];
    load(x.data + at.row * x.stride + at.col, values);
    if constexpr (masking == Masking::on) {
        float factors[width];
        mask_factors(mask, mask_key(mask), at.row, at.col, factors);
#pragma unroll
        for (int j = 0; j < width; ++j) values[j] *= factors[j];
    }
    store(y.data + at.row * y.stride + at.col, values);
}

template <int width, class T>
void run(CudaContext& ctx, const Mask& mask, CudaMatrix<const T> x, CudaMatrix<T> y) {
    const Grid grid(blocks_for(vector_cells(x.rows, x.cols, width), threads), threads);
    launch(ctx,
           mask.state == nullptr ? dropout_kernel<width, Masking::off, T>
                                 : dropout_kernel<width, Masking::on, T>,
           grid, mask, x, y);
}

}  // namespace

template <class T>
void dropout(CudaContext& ctx, const Dropout& site, TokenPlaces<CudaSpace> places,
             CudaMatrix<const T> x, CudaMatrix<T> y) {
    require(x.rows == y.rows && x.cols == y.cols, "dropout: shapes differ");
    if (!site.active() && x.data == y.data) return;
    const Mask mask = mask_of(site, places, x.rows);
    if (by_vectors(x) && by_vectors(y))
        run<vector_width<T>>(ctx, mask, x, y);
    else
        run<1>(ctx, mask, x, y);
}

template void dropout(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>, CudaMatrix<const float>,
                      CudaMatrix<float>);
template void dropout(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>, CudaMatrix<const bf16>,
                      CudaMatrix<bf16>);
template void dropout(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>, CudaMatrix<const fp16>,
                      CudaMatrix<fp16>);

}  // namespace lockstep::kernels
