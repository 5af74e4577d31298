// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/embedding.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Forward {
    static constexpr int vectors = 2;
    enum class Token { real, filler, outside };  // outside: not in the tables
    template <int width>
    struct Read {
        Token token;
        float word[width], place[width];
    };

    const std::int32_t *tokens, *positions, *real;
    float scale;
    CudaMatrix<const T> table, position_table;
    CudaMatrix<T> y;

    // Reads a row in any case, so that no load waits for the check.
    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        const std::int64_t token = tokens[cell.row], position = positions[cell.row];
        const bool inside =
            token >= 0 && token < table.rows && position >= 0 && position < position_table.rows;
        Read<width> r;
        r.token = cell.row >= *real ? Token::filler : inside ? Token::real : Token::outside;
        load(at(table, {inside ? token : 0, cell.col}), r.word);
        load(at(position_table, {inside ? position : 0, cell.col}), r.place);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, Read<width>& r) const {
        const float missing = r.token == Token::filler ? 0.0f : nanf("");
#pragma unroll
        for (int j = 0; j < width; ++j)
            r.word[j] = r.token == Token::real ? scale * r.word[j] + r.place[j] : missing;
        store(at(y, cell), r.word);
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
