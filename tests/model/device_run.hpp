// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/devices/device_model.hpp"
#include "runtime/train/loop/trainer.hpp"

namespace lockstep::tests {

// A tiny model that learns the rows of ToySource.
model::ModelConfig toy_config(model::Kind kind);

// Initial weights far enough from zero for predictions to differ from token to token.
void spread_weights(model::DeviceModel& model);

struct DeviceRun {
    std::vector<train::StepReport> steps;
    std::vector<double> validation_losses;  // of runs whose options ask for validations by steps
    std::vector<float> weights;
    train::TrainerState state;
};

// Where a run continues from, and where its last checkpoint goes; empty: nowhere.
struct RunFiles {
    std::string from, to;
};

// Trains as one rank of `ranks`, with the Trainer.
DeviceRun train_on(model::DeviceModel& model, const train::TrainOptions& options,
                   comm::Communicator& ranks, const RunFiles& files = {});
// Alone.
DeviceRun train_on(model::DeviceModel& model, const train::TrainOptions& options,
                   const RunFiles& files = {});

// The largest difference of two runs' losses, as a share of the first's.
double difference(const DeviceRun& a, const DeviceRun& b);

}  // namespace lockstep::tests
