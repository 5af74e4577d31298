// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/config.hpp"
#include "model/recompute.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// Makes the table of parameter_rows(), whose names are those of checkpoints (docs/model-format.md).
// Validates the config.
train::ParameterTable parameter_table(const ModelConfig& config);

// Does so of frozen_rows(); the table of a model without adapters is empty.
train::ParameterTable frozen_table(const ModelConfig& config);

// Makes a model that computes in the store's precision. The store must have been made with
// parameter_table(config), and `frozen`, which a model with adapters needs, with frozen_table().
// Stores and context must outlive the model.
template <class Ctx>
std::unique_ptr<train::ForwardBackward> make_model(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx,
    const RecomputePlan& plan = {},
    const train::ParameterStore<typename Ctx::Space>* frozen = nullptr);

}  // namespace lockstep::model
