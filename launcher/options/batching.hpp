// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/batching/batching_options.hpp"
#include "data/storage/dataset.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Throws a config error if --logical-shards leaves a rank of a new run without a lane. A run may be
// continued on more ranks than it has lanes, but nobody means to start it so.
void check_lanes(const RunConfig& config, int ranks);

// Returns the layout of this model's batches for these options.
data::BatchingOptions train_batching(const RunConfig& config, const model::ModelConfig& model);

// Does the same for given data. Throws a config error when the data does not suit the model
// (transformer/generator needs dialogues).
data::BatchingOptions train_batching(const RunConfig& config, const model::ModelConfig& model,
                                     const data::Dataset& dataset);
data::BatchingOptions eval_batching(const RunConfig& config, const model::ModelConfig& model);
data::BatchingOptions eval_batching(const RunConfig& config, const model::ModelConfig& model,
                                    const data::Dataset& dataset);

}  // namespace lockstep::launcher
