// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/blocks/tensor_ranks.hpp"
#include "model/config.hpp"
#include "model/recompute.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/pipeline_stage.hpp"

namespace lockstep::model {

// Makes the table of parameter_rows(), whose names are those of checkpoints (docs/model-format.md).
// Validates the config. Ranks that divide the layers have tables of their own parts, and those that
// have some of the layers of these.
train::ParameterTable parameter_table(const ModelConfig& config,
                                      const train::TensorSlice& slice = {},
                                      const train::PipelineStage& stage = {});

// Does so of frozen_rows(); the table of a model without adapters is empty.
train::ParameterTable frozen_table(const ModelConfig& config);

// Makes a model that computes in the store's precision. The store must have been made with
// parameter_table(config), and `frozen`, which a model with adapters needs, with frozen_table().
// Stores, context and `tensor`, which is null unless ranks divide the layers, must outlive the
// model.
template <class Ctx>
std::unique_ptr<train::ForwardBackward> make_model(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx,
    const RecomputePlan& plan = {},
    const train::ParameterStore<typename Ctx::Space>* frozen = nullptr,
    const TensorRanks<typename Ctx::Space>* tensor = nullptr);

}  // namespace lockstep::model
