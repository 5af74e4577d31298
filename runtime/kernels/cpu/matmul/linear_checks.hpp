// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/error.hpp"
#include "runtime/core/view.hpp"

namespace lockstep::kernels::cpu {

template <class T>
void check_layer(HostMatrix<const T> x, HostMatrix<const T> w, HostView<const T> bias,
                 HostMatrix<T> y) {
    require(x.cols == w.cols && y.cols == w.rows && y.rows == x.rows,
            "linear forward: shapes differ");
    require(bias.empty() || static_cast<std::int64_t>(bias.size()) == w.rows,
            "linear forward: the bias has another size");
}

}  // namespace lockstep::kernels::cpu
