// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/config.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/step/model.hpp"

namespace lockstep::model {

// Names, shapes and order of the model's parameters (docs/model-format.md). Validates the config.
train::ParameterTable parameter_table(const ModelConfig& config);

// A model that computes in the store's precision. The store was built with parameter_table(config);
// store and context outlive the model.
template <class Ctx>
std::unique_ptr<train::Model> make_model(const ModelConfig& config,
                                         const train::ParameterStore<typename Ctx::Space>& store,
                                         Ctx& ctx);

}  // namespace lockstep::model
