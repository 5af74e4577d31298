// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/config.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/model.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// Names, shapes and order of the model's parameters (docs/model-format.md). Validates the config.
train::ParameterTable parameter_table(const ModelConfig& config);

// A model that computes in the store's precision. The store was built with parameter_table(config);
// store and context outlive the model. Weights are as they are in the store: call initialize(), or
// load them.
std::unique_ptr<train::Model> make_model(const ModelConfig& config,
                                         train::ParameterStore<HostSpace>& store,
                                         device::CpuContext& ctx);

}  // namespace lockstep::model
