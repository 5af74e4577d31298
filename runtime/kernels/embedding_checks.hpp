// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/embedding.hpp"

// The contracts of the embeddings' operands, which hold on every device. The values of tokens,
// positions and `real` are not checked here, because a GPU holds them in its own memory. A check
// throws Error.
namespace lockstep::kernels {

template <class T, class Space>
void check(const EmbeddingForward<T, Space>& o) {
    require(o.real.size() == 1 && static_cast<std::int64_t>(o.tokens.size()) >= o.y.rows &&
                o.positions.size() == o.tokens.size(),
            "embedding: one token and position a row");
    require(o.table.cols == o.y.cols && o.position_table.cols == o.y.cols,
            "embedding: widths differ");
}

template <class T, class Space>
void check(const EmbeddingBackward<T, Space>& o) {
    require(o.real.size() == 1 && static_cast<std::int64_t>(o.tokens.size()) >= o.dy.rows &&
                o.d_table.cols == o.dy.cols,
            "embedding gradient: shapes differ");
}

}  // namespace lockstep::kernels
