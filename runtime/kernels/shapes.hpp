// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/view.hpp"

namespace lockstep::kernels {

template <class A, class B, class Space>
constexpr bool same_shape(const MatrixView<A, Space>& a, const MatrixView<B, Space>& b) noexcept {
    return a.rows == b.rows && a.cols == b.cols;
}

}  // namespace lockstep::kernels
