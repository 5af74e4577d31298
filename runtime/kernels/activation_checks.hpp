// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/activation.hpp"
#include "runtime/kernels/gated_activation.hpp"
#include "runtime/kernels/shapes.hpp"

// The contracts of the activations' operands, which hold on every device. A check throws Error.
namespace lockstep::kernels {

template <class T, class Space>
void check(const ActivationBackward<T, Space>& o) {
    require(same_shape(o.x, o.dy) && same_shape(o.x, o.dx) &&
                static_cast<std::int64_t>(o.db.size()) == o.x.cols,
            "activation backward: shapes differ");
}

template <class T, class Space>
void check(const ReluBackward<T, Space>& o) {
    require(same_shape(o.y, o.dy) && same_shape(o.y, o.dx) &&
                static_cast<std::int64_t>(o.db.size()) == o.y.cols,
            "relu backward: shapes differ");
}

template <class T, class U, class Space>
void check_gated(const MatrixView<T, Space>& x, const MatrixView<U, Space>& y) {
    require(x.rows == y.rows && x.cols == 2 * y.cols, "gated activation: shapes do not fit");
}

template <class T, class Space>
void check(const GatedActivationBackward<T, Space>& o) {
    check_gated(o.x, o.dy);
    require(same_shape(o.x, o.dx), "gated activation, backward: shapes differ");
}

}  // namespace lockstep::kernels
