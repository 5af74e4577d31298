// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/shapes.hpp"

// The contracts of the norms' operands, which hold on every device. A check throws Error.
namespace lockstep::kernels {

template <class T, class Space>
void check(const NormForward<T, Space>& o) {
    const auto d = static_cast<std::size_t>(o.x.cols), rows = static_cast<std::size_t>(o.x.rows);
    require(same_shape(o.x, o.y) && o.gamma.size() == d && o.rstd.size() >= rows,
            "norm: shapes differ");
    if (o.kind == NormKind::rms)
        require(o.beta.empty() && o.mean.empty(), "norm: rms has neither beta nor mean");
    else
        require(o.beta.size() == d && o.mean.size() >= rows && o.rstd.size() >= o.mean.size(),
                "norm: shapes differ");
    require(o.branch.empty() || (same_shape(o.x, o.branch) && same_shape(o.x, o.sum)),
            "norm: the residual's shapes differ");
}

template <class T, class Space>
void check(const NormBackward<T, Space>& o) {
    const auto d = static_cast<std::size_t>(o.sum.cols);
    require(same_shape(o.dy, o.sum) && same_shape(o.dx, o.sum) && o.gamma.size() == d &&
                o.rstd.size() >= static_cast<std::size_t>(o.sum.rows) && o.dgamma.size() == d &&
                (o.dbias.empty() || o.dbias.size() == d),
            "norm backward: shapes differ");
    require(o.kind == NormKind::rms ? o.dbeta.empty() : o.dbeta.size() == d,
            "norm backward: dbeta is that of a layer norm");
    require((o.d_sum.empty() || same_shape(o.d_sum, o.sum)) &&
                (o.d_branch.empty() || same_shape(o.d_branch, o.sum)),
            "norm backward: the residual's shapes differ");
}

}  // namespace lockstep::kernels
