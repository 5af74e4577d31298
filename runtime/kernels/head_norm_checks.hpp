// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/head_norm.hpp"
#include "runtime/kernels/shapes.hpp"

// The contracts of the operands of norms per head, which hold on every device. A check throws
// Error.
namespace lockstep::kernels {

template <class T, class Space>
void check(const HeadNormForward<T, Space>& o) {
    require(o.head_dim > 0 && o.x.cols % o.head_dim == 0 && same_shape(o.x, o.y) &&
                o.gamma.size() == static_cast<std::size_t>(o.head_dim) &&
                o.rstd.size() >= static_cast<std::size_t>(o.x.rows * (o.x.cols / o.head_dim)),
            "norm of heads: shapes differ");
}

template <class T, class Space>
void check(const HeadNormBackward<T, Space>& o) {
    require(o.head_dim > 0 && o.x.cols % o.head_dim == 0 && same_shape(o.x, o.dy) &&
                same_shape(o.x, o.dx) && o.gamma.size() == static_cast<std::size_t>(o.head_dim) &&
                o.dgamma.size() == o.gamma.size() &&
                o.rstd.size() >= static_cast<std::size_t>(o.x.rows * (o.x.cols / o.head_dim)),
            "norm of heads, backward: shapes differ");
}

}  // namespace lockstep::kernels
