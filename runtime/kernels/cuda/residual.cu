// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/dropout_mask.hpp"
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/norm.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <Masking masking, class T>
struct Residual {
    static constexpr int vectors = masking == Masking::on ? 4 : 2;  // these share the mask's key
    template <int width>
    struct Read {
        MaskedToken token;
        float x[width], branch[width];
    };

    Mask mask;
    CudaMatrix<const T> x, branch;
    CudaMatrix<T> sum;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r{masked_token<masking>(mask, cell.row), {}, {}};
        load(at(x, cell), r.x);
        load(at(branch, cell), r.branch);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
        apply_mask<masking>(mask, r.token, cell.col, r.branch);
#pragma unroll
        for (int j = 0; j < width; ++j) r.x[j] += r.branch[j];
        store(at(sum, cell), r.x);
    }
};

}  // namespace

template <class T>
void residual_forward(CudaContext& ctx, const Dropout& site,
                      TokenCoordinates<CudaSpace> coordinates, CudaMatrix<const T> x,
                      CudaMatrix<const T> branch, CudaMatrix<T> sum) {
    require(same_shape(x, branch) && same_shape(x, sum), "residual: shapes differ");
    const Mask mask = mask_of(site, coordinates, x.rows);
    if (site.active())
        elementwise(ctx, Residual<Masking::on, T>{mask, x, branch, sum}, sum, x, branch);
    else
        elementwise(ctx, Residual<Masking::off, T>{mask, x, branch, sum}, sum, x, branch);
}

template <class T>
void add(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<T> y) {
    require(same_shape(x, y), "add: shapes differ");
    elementwise(ctx, Residual<Masking::off, T>{{}, y, x, y}, y, x);
}

template void residual_forward(CudaContext&, const Dropout&, TokenCoordinates<CudaSpace>,
                               CudaMatrix<const float>, CudaMatrix<const float>, CudaMatrix<float>);
template void residual_forward(CudaContext&, const Dropout&, TokenCoordinates<CudaSpace>,
                               CudaMatrix<const bf16>, CudaMatrix<const bf16>, CudaMatrix<bf16>);
template void residual_forward(CudaContext&, const Dropout&, TokenCoordinates<CudaSpace>,
                               CudaMatrix<const fp16>, CudaMatrix<const fp16>, CudaMatrix<fp16>);
template void add(CudaContext&, CudaMatrix<const float>, CudaMatrix<float>);
template void add(CudaContext&, CudaMatrix<const bf16>, CudaMatrix<bf16>);
template void add(CudaContext&, CudaMatrix<const fp16>, CudaMatrix<fp16>);

}  // namespace lockstep::kernels
