// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.hpp"
#include "runtime/core/view.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// Writes the initial weights, which depend only on (config, seed). Every parameter has its own
// random numbers, selected by its name, so changing one layer keeps the others' values.
//       generator, as in ParlAI: embeddings and learned positions normal(0, d^-0.5) with the row of
//         __null__ zero; attention xavier_normal with q, k and v as separate [d, d] matrices;
//         feed-forward xavier_uniform; norms 1 and 0. Biases are 0 (ParlAI keeps PyTorch's
//         uniform).
//       gpt2: normal(0, 0.02), the projections into the residual stream scaled by
//         1 / sqrt(2 * layers), biases 0, norms 1 and 0.
void initial_weights(const ModelConfig& config, const train::ParameterTable& table,
                     std::uint64_t seed, HostView<float> master);

// Writes those of one parameter's elements [first, first + values.size()); `first` is even.
void initial_weights(const ModelConfig& config, const train::Parameter& parameter,
                     std::uint64_t seed, std::size_t first, HostView<float> values);

}  // namespace lockstep::model
