// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/devices/model.hpp"
#include "runtime/train/loop/trainer.hpp"

namespace lockstep::tests {

// Returns the configuration of a tiny model that learns the rows of ToySource.
model::ModelConfig toy_config(model::Kind kind);

// Sets initial weights that are far enough from zero for predictions to differ from token to token.
void spread_weights(model::Model& model);

struct DeviceRun {
    std::vector<train::StepReport> steps;
    std::vector<double> validation_losses;  // of runs whose options ask for validations by steps
    std::vector<float> weights;  // of all parameters, without gaps; empty where rank 0 has them
    std::vector<float> owned;    // the same, where this rank owns them, else zeros
    train::TrainerState state;
};

// The path that a run continues from, and the path of its last checkpoint; empty: none.
struct RunFiles {
    std::string from, to;
};

// Trains as one rank of `ranks`, with the Trainer.
DeviceRun train_on(model::Model& model, const train::TrainOptions& options,
                   comm::Communicator& ranks, const RunFiles& files = {});
// Trains as the only rank.
DeviceRun train_on(model::Model& model, const train::TrainOptions& options,
                   const RunFiles& files = {});

// Returns the largest difference of the losses of two runs, as a share of the first run's.
double difference(const DeviceRun& a, const DeviceRun& b);

}  // namespace lockstep::tests
