// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/linear_activation.hpp"

// These functions compute linear_activation.hpp's pairs by a product and a pass over its result.
// The kernels that they call check the operands.
namespace lockstep::kernels {

template <class T, class Ctx, class Space>
void separate_activation_forward(Ctx& ctx, const LinearActivationForward<T, Space>& o) {
    linear_forward<T>(ctx, o.x, o.w, o.bias, o.hidden);
    activation_forward<T>(ctx, o.site.f, o.site.dropout, o.site.coordinates, o.hidden, o.y);
}

template <class T, class Ctx, class Space>
void separate_activation_backward(Ctx& ctx, const LinearActivationBackward<T, Space>& o) {
    linear_backward_input<T>(ctx, o.dz, o.w, o.d_hidden, Into::overwrite);
    if (o.site.f == Activation::relu)
        relu_backward<T>(ctx, {.dropout = o.site.dropout,
                               .y = o.y,
                               .dy = o.d_hidden,
                               .dx = o.d_hidden,
                               .db = o.db,
                               .into = o.into});
    else
        activation_backward<T>(ctx, {.f = o.site.f,
                                     .dropout = o.site.dropout,
                                     .coordinates = o.site.coordinates,
                                     .x = o.hidden,
                                     .dy = o.d_hidden,
                                     .dx = o.d_hidden,
                                     .db = o.db,
                                     .into = o.into});
}

}  // namespace lockstep::kernels
