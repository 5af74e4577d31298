// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/device/dry_context.hpp"
#include "runtime/device/traits.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/embedding.hpp"
#include "runtime/kernels/linear_activation.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/small_products.hpp"
#include "runtime/kernels/token_coordinates.hpp"

namespace lockstep::kernels {

// The kernels that a model calls in training and evaluation, on a device that computes nothing.
// Include this before the model's templates, which then find them.

using device::DryContext;
using device::DrySpace;

template <class T>
using DryView = View<T, DrySpace>;
template <class T>
using DryMatrix = MatrixView<T, DrySpace>;

template <class Like>
void locate_tokens(DryContext<Like>&, DryView<const std::int32_t>, DryView<const std::uint32_t>,
                   DryView<std::int32_t>, DryView<std::uint32_t>,
                   const FollowingLabels<DrySpace>&) {}
template <class T, class Like>
void embedding_forward(DryContext<Like>&, const EmbeddingForward<T, DrySpace>&) {}
template <class T, class Like>
void embedding_backward(DryContext<Like>&, const EmbeddingBackward<T, DrySpace>&) {}
template <class T, class Like>
void position_backward(DryContext<Like>&, DryView<const std::int32_t>, DryMatrix<const T>,
                       DryMatrix<float>, Into) {}

template <class T, class Like>
void linear_forward(DryContext<Like>&, DryMatrix<const T>, DryMatrix<const T>, DryView<const T>,
                    DryMatrix<T>) {}
template <class T, class Like>
void linear_backward_input(DryContext<Like>&, DryMatrix<const T>, DryMatrix<const T>, DryMatrix<T>,
                           Into) {}
template <class T, class Like>
void linear_backward_weight(DryContext<Like>&, DryMatrix<const T>, DryMatrix<const T>,
                            DryMatrix<float>, Into) {}
template <class T, class Like>
void linear_backward_parameters(DryContext<Like>&, DryMatrix<const T>, DryMatrix<const T>,
                                DryMatrix<float>, DryView<float>, Into) {}
template <class T, class Like>
void bias_backward(DryContext<Like>&, DryMatrix<const T>, DryView<float>, Into) {}

template <class T, class Like>
void linear_activation_forward(DryContext<Like>&, const LinearActivationForward<T, DrySpace>&) {}
template <class T, class Like>
void linear_activation_backward(DryContext<Like>&, const LinearActivationBackward<T, DrySpace>&) {}
// Returns the same as on a GPU (relu_mask.hpp).
template <class T, class Like>
std::int64_t relu_mask_cols(DryContext<Like>&, const ActivationSite<DrySpace>& site,
                            std::int64_t rows, std::int64_t cols) {
    const bool may = std::is_same_v<Like, device::CudaTraits> && site.f == Activation::relu;
    return may && !site.dropout.active() ? small_mask_cols<T>(rows, cols) : 0;
}
template <class T, class Like>
bool linear_relu_forward(DryContext<Like>&, DryMatrix<const T>, DryMatrix<const T>,
                         DryView<const T>, DryMatrix<T>, DryMatrix<std::uint8_t>) {
    return true;
}
template <class T, class Like>
bool linear_relu_backward(DryContext<Like>&, DryMatrix<const T>, DryMatrix<const T>,
                          DryMatrix<const std::uint8_t>, DryMatrix<T>) {
    return true;
}
template <class T, class Like>
void activation_forward(DryContext<Like>&, Activation, const Dropout&, TokenCoordinates<DrySpace>,
                        DryMatrix<const T>, DryMatrix<T>) {}

template <class T, class Like>
void norm_forward(DryContext<Like>&, const NormForward<T, DrySpace>&) {}
template <class T, class Like>
void norm_backward(DryContext<Like>&, const NormBackward<T, DrySpace>&) {}
template <class T, class Like>
void add(DryContext<Like>&, DryMatrix<const T>, DryMatrix<T>) {}
template <class T, class Like>
void dropout(DryContext<Like>&, const Dropout&, TokenCoordinates<DrySpace>, DryMatrix<const T>,
             DryMatrix<T>) {}

template <class T, class Like>
void attention_forward(DryContext<Like>&, const AttentionForward<T, DrySpace>&) {}
template <class T, class Like>
void attention_backward(DryContext<Like>&, const AttentionBackward<T, DrySpace>&) {}

template <class T, class Like>
void softmax_xent_forward(DryContext<Like>&, DryMatrix<const T>, DryView<const std::int32_t>, float,
                          LossSums*) {}
template <class T, class Like>
void softmax_xent_forward_backward(DryContext<Like>&, const StepState*, DryMatrix<T>,
                                   DryView<const std::int32_t>, float, LossSums*) {}

}  // namespace lockstep::kernels
