// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/elementwise.hpp"
#include "runtime/kernels/scatter.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Scatter {
    const std::int64_t* places;
    CudaMatrix<const T> from;
    CudaMatrix<T> to;

    template <int width>
    __device__ __forceinline__ void run(Cell cell) const {
        const std::int64_t place = places[cell.row];
        if (place < 0 || place >= to.rows) return;
        float values[width];
        load(at(from, cell), values);
        store(at(to, {place, cell.col}), values);
    }
};

}  // namespace

template <class T>
void scatter_rows(CudaContext& ctx, CudaView<const std::int64_t> places, CudaMatrix<const T> from,
                  CudaMatrix<T> to) {
    require(static_cast<std::int64_t>(places.size()) == from.rows && from.cols == to.cols,
            "scatter: shapes differ");
    if (from.rows == 0) return;
    // Launched for the rows that are read.
    const CudaMatrix<T> written{to.data, from.rows, to.cols, to.stride};
    elementwise(ctx, Scatter<T>{places.data(), from, to}, written, from);
}

template void scatter_rows(CudaContext&, CudaView<const std::int64_t>, CudaMatrix<const float>,
                           CudaMatrix<float>);
template void scatter_rows(CudaContext&, CudaView<const std::int64_t>, CudaMatrix<const bf16>,
                           CudaMatrix<bf16>);
template void scatter_rows(CudaContext&, CudaView<const std::int64_t>, CudaMatrix<const fp16>,
                           CudaMatrix<fp16>);

}  // namespace lockstep::kernels
