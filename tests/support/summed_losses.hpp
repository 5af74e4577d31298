// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "runtime/kernels/loss_sums.hpp"
#include "runtime/train/forward_backward.hpp"

namespace lockstep::tests {

inline kernels::LossSums summed(std::span<const kernels::LossSums> losses) {
    kernels::LossSums sums;
    for (const kernels::LossSums& loss : losses) sums += loss;
    return sums;
}

// Evaluates a model in the host's memory.
inline kernels::LossSums evaluated(train::ForwardBackward& model, const train::Batch& batch) {
    std::vector<kernels::LossSums> losses(batch.target.tokens.size());
    model.evaluate(batch, losses.data());
    return summed(losses);
}
inline kernels::LossSums evaluated(train::ForwardBackward& model, const train::Batch& batch,
                                   train::WeightSource& weights) {
    std::vector<kernels::LossSums> losses(batch.target.tokens.size());
    model.evaluate(batch, losses.data(), weights);
    return summed(losses);
}

}  // namespace lockstep::tests
