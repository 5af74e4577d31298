// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/elementwise.hpp"
#include "runtime/kernels/embedding.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Forward {
    const std::int32_t *tokens, *positions, *real;
    float scale;
    CudaMatrix<const T> table, position_table;
    CudaMatrix<T> y;

    template <int width>
    __device__ __forceinline__ void run(Cell cell) const {
        float values[width], added[width];
        const bool filler = cell.row >= *real;
        const std::int64_t token = filler ? 0 : tokens[cell.row];
        const std::int64_t position = filler ? 0 : positions[cell.row];
        if (filler || token < 0 || token >= table.rows || position < 0 ||
            position >= position_table.rows) {
#pragma unroll
            for (int j = 0; j < width; ++j) values[j] = filler ? 0.0f : nanf("");
        } else {
            load(at(table, {token, cell.col}), values);
            load(at(position_table, {position, cell.col}), added);
#pragma unroll
            for (int j = 0; j < width; ++j) values[j] = scale * values[j] + added[j];
        }
        store(at(y, cell), values);
    }
};

}  // namespace

template <class T>
void embedding_forward(CudaContext& ctx, CudaView<const std::int32_t> tokens,
                       CudaView<const std::int32_t> positions, CudaView<const std::int32_t> real,
                       float scale, CudaMatrix<const T> table, CudaMatrix<const T> position_table,
                       CudaMatrix<T> y) {
    require(real.size() == 1 && static_cast<std::int64_t>(tokens.size()) >= y.rows &&
                positions.size() == tokens.size(),
            "embedding: one token and position a row");
    require(table.cols == y.cols && position_table.cols == y.cols, "embedding: widths differ");
    elementwise(
        ctx,
        Forward<T>{tokens.data(), positions.data(), real.data(), scale, table, position_table, y},
        y, table, position_table);
}

template void embedding_forward(CudaContext&, CudaView<const std::int32_t>,
                                CudaView<const std::int32_t>, CudaView<const std::int32_t>, float,
                                CudaMatrix<const float>, CudaMatrix<const float>,
                                CudaMatrix<float>);
template void embedding_forward(CudaContext&, CudaView<const std::int32_t>,
                                CudaView<const std::int32_t>, CudaView<const std::int32_t>, float,
                                CudaMatrix<const bf16>, CudaMatrix<const bf16>, CudaMatrix<bf16>);
template void embedding_forward(CudaContext&, CudaView<const std::int32_t>,
                                CudaView<const std::int32_t>, CudaView<const std::int32_t>, float,
                                CudaMatrix<const fp16>, CudaMatrix<const fp16>, CudaMatrix<fp16>);

}  // namespace lockstep::kernels
