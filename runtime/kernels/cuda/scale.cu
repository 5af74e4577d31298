// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/scale.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Scaling {
    static constexpr int vectors = 2;
    template <int width>
    struct Read {
        float x[width];
    };

    float factor;
    CudaMatrix<const T> x;
    CudaMatrix<T> y;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r;
        load(at(x, cell), r.x);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
#pragma unroll
        for (int j = 0; j < width; ++j) r.x[j] *= factor;
        store(at(y, cell), r.x);
    }
};

}  // namespace

template <class T>
void scale(CudaContext& ctx, float factor, CudaMatrix<T> x) {
    elementwise(ctx, Scaling<T>{factor, x, x}, x, CudaMatrix<const T>(x));
}

template void scale(CudaContext&, float, CudaMatrix<float>);
template void scale(CudaContext&, float, CudaMatrix<bf16>);
template void scale(CudaContext&, float, CudaMatrix<fp16>);

}  // namespace lockstep::kernels
