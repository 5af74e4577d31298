// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/batching/batching_options.hpp"
#include "data/storage/dataset.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// How this model's batches are laid out for these options.
data::BatchingOptions train_batching(const RunConfig& config, const model::ModelConfig& model);

// The same with data. Throws a config error where the data
// does not suit the model (transformer/generator needs dialogues).
data::BatchingOptions train_batching(const RunConfig& config, const model::ModelConfig& model,
                                     const data::Dataset& dataset);
data::BatchingOptions eval_batching(const RunConfig& config, const model::ModelConfig& model);
data::BatchingOptions eval_batching(const RunConfig& config, const model::ModelConfig& model,
                                    const data::Dataset& dataset);

}  // namespace lockstep::launcher
