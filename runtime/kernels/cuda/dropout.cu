// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/dropout_mask.hpp"
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/dropout.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <Masking masking, class T>
struct Drop {
    static constexpr int vectors = 4;
    template <int width>
    struct Read {
        MaskedToken token;
        float values[width];
    };

    Mask mask;
    CudaMatrix<const T> x;
    CudaMatrix<T> y;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r{masked_token<masking>(mask, cell.row), {}};
        load(at(x, cell), r.values);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
        apply_mask<masking>(mask, r.token, cell.col, r.values);
        store(at(y, cell), r.values);
    }
};

}  // namespace

template <class T>
void dropout(CudaContext& ctx, const Dropout& site, TokenCoordinates<CudaSpace> coordinates,
             CudaMatrix<const T> x, CudaMatrix<T> y) {
    require(x.rows == y.rows && x.cols == y.cols, "dropout: shapes differ");
    if (!site.active() && x.data == y.data) return;
    const Mask mask = mask_of(site, coordinates, x.rows);
    if (site.active())
        elementwise(ctx, Drop<Masking::on, T>{mask, x, y}, y, x);
    else
        elementwise(ctx, Drop<Masking::off, T>{mask, x, y}, y, x);
}

template void dropout(CudaContext&, const Dropout&, TokenCoordinates<CudaSpace>,
                      CudaMatrix<const float>, CudaMatrix<float>);
template void dropout(CudaContext&, const Dropout&, TokenCoordinates<CudaSpace>,
                      CudaMatrix<const bf16>, CudaMatrix<bf16>);
template void dropout(CudaContext&, const Dropout&, TokenCoordinates<CudaSpace>,
                      CudaMatrix<const fp16>, CudaMatrix<fp16>);

}  // namespace lockstep::kernels
