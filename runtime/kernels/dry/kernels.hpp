// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/device/dry_context.hpp"
#include "runtime/device/traits.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/embedding.hpp"
#include "runtime/kernels/linear_activation.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/small_products.hpp"

namespace lockstep::kernels {

// What a model calls in training and evaluation, on a device where nothing is computed. Included
// before the model's templates, which find it there.

using device::DryContext;
using device::DrySpace;

// Whatever a kernel is given, {} as well, which no template parameter would take.
struct Any {
    constexpr Any() noexcept = default;
    template <class Argument>
    constexpr Any(const Argument&) noexcept {}
};

template <class Like>
void place_tokens(DryContext<Like>&, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void embedding_forward(DryContext<Like>&, const EmbeddingForward<T, DrySpace>&) {}
template <class T, class Like>
void embedding_backward(DryContext<Like>&, const EmbeddingBackward<T, DrySpace>&) {}
template <class T, class Like>
void position_backward(DryContext<Like>&, Any, Any, Any, Any) {}

template <class T, class Like>
void linear_forward(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void linear_backward_input(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void linear_backward_weight(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void linear_backward_parameters(DryContext<Like>&, Any, Any, Any, Any, Any) {}
template <class T, class Like>
void bias_backward(DryContext<Like>&, Any, Any, Any) {}

template <class T, class Like>
void linear_activation_forward(DryContext<Like>&, const LinearActivationForward<T, DrySpace>&) {}
template <class T, class Like>
void linear_activation_backward(DryContext<Like>&, const LinearActivationBackward<T, DrySpace>&) {}
// As on a GPU (relu_mask.hpp).
template <class T, class Like, class Space>
std::int64_t relu_mask_cols(DryContext<Like>&, const ActivationSite<Space>& site, std::int64_t rows,
                            std::int64_t cols) {
    const bool may = std::is_same_v<Like, device::CudaTraits> && site.f == Activation::relu;
    return may && !site.dropout.active() ? small_mask_cols<T>(rows, cols) : 0;
}
template <class T, class Like>
bool linear_relu_forward(DryContext<Like>&, Any, Any, Any, Any, Any) {
    return true;
}
template <class T, class Like>
bool linear_relu_backward(DryContext<Like>&, Any, Any, Any, Any) {
    return true;
}
template <class T, class Like>
void activation_forward(DryContext<Like>&, Any, Any, Any, Any, Any) {}

template <class T, class Like>
void norm_forward(DryContext<Like>&, const NormForward<T, DrySpace>&) {}
template <class T, class Like>
void norm_backward(DryContext<Like>&, const NormBackward<T, DrySpace>&) {}
template <class T, class Like>
void add(DryContext<Like>&, Any, Any) {}
template <class T, class Like>
void dropout(DryContext<Like>&, Any, Any, Any, Any) {}

template <class T, class Like>
void attention_forward(DryContext<Like>&, const AttentionForward<T, DrySpace>&) {}
template <class T, class Like>
void attention_backward(DryContext<Like>&, const AttentionBackward<T, DrySpace>&) {}

template <class T, class Like>
void softmax_xent_forward(DryContext<Like>&, Any, Any, Any, Any) {}
template <class T, class Like>
void softmax_xent_forward_backward(DryContext<Like>&, Any, Any, Any, Any, Any) {}

}  // namespace lockstep::kernels
