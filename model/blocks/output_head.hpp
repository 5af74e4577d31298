// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/stack_pass.hpp"
#include "runtime/kernels/softmax_xent.hpp"
#include "runtime/train/step/model.hpp"

namespace lockstep::model {

// Calculates logits = x E^T + b with the embedding table E, and the loss. The bias b is not a
// parameter: it excludes a class by minus infinity, or is empty. The work is done in chunks of
// tokens, so that the whole matrix of logits [tokens, vocabulary] never exists.
template <class Ctx, class T>
struct OutputHead {
    using Space = typename Ctx::Space;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;
    using Bias = View<const T, Space>;
    using Labels = View<const std::int32_t, Space>;

    // Overwrites dx, and overwrites or adds to d_embeddings as `into` says; both are scaled by
    // state->loss_seed. Adds the loss to *sums.
    static void train(Ctx& ctx, device::Arena<Space>& arena, const kernels::StepState* state,
                      Constant embeddings, Bias bias, Constant x, Labels labels,
                      float label_smoothing, Matrix dx, MatrixView<float, Space> d_embeddings,
                      kernels::Into into, kernels::LossSums* sums, train::ModelSpans& spans);
    static void evaluate(Ctx& ctx, device::Arena<Space>& arena, Constant embeddings, Bias bias,
                         Constant x, Labels labels, kernels::LossSums* losses);
};

}  // namespace lockstep::model
