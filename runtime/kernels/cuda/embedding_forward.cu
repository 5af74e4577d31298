// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/embedding_checks.hpp"

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
void embedding_forward(CudaContext& ctx, const EmbeddingForward<T, CudaSpace>& o) {
    check(o);
    const Forward<T> body{o.tokens.data(),
                          o.positions.data(),
                          o.real.data(),
                          o.scale,
                          o.table,
                          o.position_table,
                          o.y};
    elementwise(ctx, body, o.y, o.table, o.position_table);
}

template void embedding_forward(CudaContext&, const EmbeddingForward<float, CudaSpace>&);
template void embedding_forward(CudaContext&, const EmbeddingForward<bf16, CudaSpace>&);
template void embedding_forward(CudaContext&, const EmbeddingForward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
