// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/dry_context.hpp"

namespace lockstep::kernels {

// What a model calls in training and evaluation, on a device where nothing is computed. Included
// before the model's templates, which find it there.

using device::DryContext;

// Whatever a kernel is given, {} as well, which no template parameter would take.
struct Any {
    constexpr Any() noexcept = default;
    template <class Argument>
    constexpr Any(const Argument&) noexcept {}
};

template <class Like>
void place_tokens(DryContext<Like>&, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void embedding_forward(DryContext<Like>&, Any, Any, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void embedding_backward(DryContext<Like>&, Any, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void position_backward(DryContext<Like>&, Any, Any, Any, Any) {}

template <class T, class Like>
void linear_forward(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void linear_backward_input(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void linear_backward_weight(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void bias_backward(DryContext<Like>&, Any, Any, Any) {}

template <class T, class Like>
void linear_activation_forward(DryContext<Like>&, Any, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void linear_activation_backward(DryContext<Like>&, Any, Any, Any, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void activation_forward(DryContext<Like>&, Any, Any, Any, Any, Any) {}

template <class T, class Like>
void norm_forward(DryContext<Like>&, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void norm_backward(DryContext<Like>&, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
                   Any, Any) {}
template <class T, class Like>
void add(DryContext<Like>&, Any, Any) {}
template <class T, class Like>
void dropout(DryContext<Like>&, Any, Any, Any, Any) {}

template <class T, class Like>
void attention_forward(DryContext<Like>&, Any, Any, Any, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void attention_backward(DryContext<Like>&, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
                        Any, Any) {}

template <class T, class Like>
void softmax_xent_forward(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void softmax_xent_forward_backward(DryContext<Like>&, Any, Any, Any, Any, Any) {}

}  // namespace lockstep::kernels
