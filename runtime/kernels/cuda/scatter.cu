// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/scatter.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Scatter {
    static constexpr int vectors = 4;
    template <int width>
    struct Read {
        std::int64_t index;
        float values[width];
    };

    const std::int64_t* indices;
    CudaMatrix<const T> from;
    CudaMatrix<T> to;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r{indices[cell.row], {}};
        load(at(from, cell), r.values);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
        if (r.index >= 0 && r.index < to.rows) store(at(to, {r.index, cell.col}), r.values);
    }
};

struct AddGathered {
    static constexpr int vectors = 4;
    template <int width>
    struct Read {
        float sums[width];
        bool there;
    };

    const std::int32_t* slots;
    CudaMatrix<const float> from;
    CudaMatrix<float> to;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r{};
        const std::int64_t slot = slots[cell.row];
        r.there = slot >= 0 && slot < from.rows;
        if (!r.there) return r;
        float more[width];
        load(at(from, {slot, cell.col}), more);
        load(at(to, cell), r.sums);
#pragma unroll
        for (int j = 0; j < width; ++j) r.sums[j] += more[j];
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
        if (r.there) store(at(to, cell), r.sums);
    }
};

}  // namespace

void add_gathered_rows(CudaContext& ctx, CudaView<const std::int32_t> slots,
                       CudaMatrix<const float> from, CudaMatrix<float> to) {
    require(static_cast<std::int64_t>(slots.size()) == to.rows && from.cols == to.cols,
            "gathered rows: shapes differ");
    if (to.rows == 0) return;
    elementwise(ctx, AddGathered{slots.data(), from, to}, to, from);
}

template <class T>
void scatter_rows(CudaContext& ctx, CudaView<const std::int64_t> indices, CudaMatrix<const T> from,
                  CudaMatrix<T> to) {
    require(static_cast<std::int64_t>(indices.size()) == from.rows && from.cols == to.cols,
            "scatter: shapes differ");
    if (from.rows == 0) return;
    // The launch covers the rows that are read, not those of the target.
    const CudaMatrix<T> written{to.data, from.rows, to.cols, to.stride};
    elementwise(ctx, Scatter<T>{indices.data(), from, to}, written, from);
}

template void scatter_rows(CudaContext&, CudaView<const std::int64_t>, CudaMatrix<const float>,
                           CudaMatrix<float>);
template void scatter_rows(CudaContext&, CudaView<const std::int64_t>, CudaMatrix<const bf16>,
                           CudaMatrix<bf16>);
template void scatter_rows(CudaContext&, CudaView<const std::int64_t>, CudaMatrix<const fp16>,
                           CudaMatrix<fp16>);

}  // namespace lockstep::kernels
