// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/rotary.hpp"

// The contract of a rotation's operands, which holds on every device. A check throws Error.
namespace lockstep::kernels {

template <class T, class Space>
void check(const Rotary<T, Space>& o) {
    require(o.head_dim > 0 && o.x.cols % o.head_dim == 0 &&
                o.positions.size() >= static_cast<std::size_t>(o.x.rows),
            "rotation: shapes do not fit");
    require(2 * o.frequencies.size() <= static_cast<std::size_t>(o.head_dim),
            "rotation: more frequencies than pairs of columns");
}

}  // namespace lockstep::kernels
