// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/device/dry_context.hpp"
#include "runtime/device/traits.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/embedding.hpp"
#include "runtime/kernels/gated_activation.hpp"
#include "runtime/kernels/head_norm.hpp"
#include "runtime/kernels/linear_activation.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/rotary.hpp"
#include "runtime/kernels/scale.hpp"
#include "runtime/kernels/small_products.hpp"
#include "runtime/kernels/token_coordinates.hpp"

namespace lockstep::kernels {

// The kernels that a model calls in training and evaluation, on a device that computes nothing and
// counts the multiplications of linear layers.
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

template <class Like>
void note_product(DryContext<Like>& ctx, std::int64_t rows, std::int64_t cols, std::int64_t depth) {
    ctx.multiply_adds +=
        static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(depth);
}
template <class T, class Like>
void linear_forward(DryContext<Like>& ctx, DryMatrix<const T> x, DryMatrix<const T> w,
                    DryView<const T>, DryMatrix<T>) {
    note_product(ctx, x.rows, w.rows, x.cols);
}
template <class T, class Like>
void linear_backward_input(DryContext<Like>& ctx, DryMatrix<const T> dy, DryMatrix<const T> w,
                           DryMatrix<T>, Into) {
    note_product(ctx, dy.rows, w.cols, dy.cols);
}
template <class T, class Like>
void linear_backward_weight(DryContext<Like>& ctx, DryMatrix<const T> x, DryMatrix<const T> dy,
                            DryMatrix<float>, Into) {
    note_product(ctx, x.cols, dy.cols, x.rows);
}
template <class T, class Like>
void linear_backward_parameters(DryContext<Like>& ctx, DryMatrix<const T> x, DryMatrix<const T> dy,
                                DryMatrix<float>, DryView<float>, Into) {
    note_product(ctx, x.cols, dy.cols, x.rows);
}
template <class T, class Like>
void bias_backward(DryContext<Like>&, DryMatrix<const T>, DryView<float>, Into) {}

template <class T, class Like>
void linear_activation_forward(DryContext<Like>& ctx,
                               const LinearActivationForward<T, DrySpace>& operands) {
    note_product(ctx, operands.x.rows, operands.w.rows, operands.x.cols);
}
template <class T, class Like>
void linear_activation_backward(DryContext<Like>& ctx,
                                const LinearActivationBackward<T, DrySpace>& operands) {
    note_product(ctx, operands.dz.rows, operands.w.cols, operands.dz.cols);
}
// Returns the same as on a GPU (relu_mask.hpp).
template <class T, class Like>
std::int64_t relu_mask_cols(DryContext<Like>&, const ActivationSite<DrySpace>& site,
                            std::int64_t rows, std::int64_t cols) {
    const bool may = std::is_same_v<Like, device::CudaTraits> && site.f == Activation::relu;
    return may && !site.dropout.active() ? small_mask_cols<T>(rows, cols) : 0;
}
template <class T, class Like>
bool linear_relu_forward(DryContext<Like>& ctx, DryMatrix<const T> x, DryMatrix<const T> w,
                         DryView<const T>, DryMatrix<T>, DryMatrix<std::uint8_t>) {
    note_product(ctx, x.rows, w.rows, x.cols);
    return true;
}
template <class T, class Like>
bool linear_relu_backward(DryContext<Like>& ctx, DryMatrix<const T> dz, DryMatrix<const T> w,
                          DryMatrix<const std::uint8_t>, DryMatrix<T>) {
    note_product(ctx, dz.rows, w.cols, dz.cols);
    return true;
}
template <class T, class Like>
void activation_forward(DryContext<Like>&, Activation, const Dropout&, TokenCoordinates<DrySpace>,
                        DryMatrix<const T>, DryMatrix<T>) {}
template <class T, class Like>
void activation_backward(DryContext<Like>&, const ActivationBackward<T, DrySpace>&) {}

template <class T, class Like>
void norm_forward(DryContext<Like>&, const NormForward<T, DrySpace>&) {}
template <class T, class Like>
void norm_backward(DryContext<Like>&, const NormBackward<T, DrySpace>&) {}
template <class T, class Like>
void head_norm_forward(DryContext<Like>&, const HeadNormForward<T, DrySpace>&) {}
template <class T, class Like>
void head_norm_backward(DryContext<Like>&, const HeadNormBackward<T, DrySpace>&) {}
template <class T, class Like>
void rotate(DryContext<Like>&, const Rotary<T, DrySpace>&) {}
template <class T, class Like>
void gated_activation_forward(DryContext<Like>&, Activation, DryMatrix<const T>, DryMatrix<T>) {}
template <class T, class Like>
void gated_activation_backward(DryContext<Like>&, const GatedActivationBackward<T, DrySpace>&) {}
template <class Like>
void fill_zero(DryContext<Like>&, DryView<float>) {}
template <class T, class Like>
void add(DryContext<Like>&, DryMatrix<const T>, DryMatrix<T>) {}
template <class T, class Like>
void scale(DryContext<Like>&, float, DryMatrix<T>) {}
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
                                   DryView<const std::int32_t>, const LossTerms&, LossSums*) {}

}  // namespace lockstep::kernels
