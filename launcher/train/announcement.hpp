// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "launcher/rank/job.hpp"
#include "launcher/train/training.hpp"
#include "model/devices/model.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// Names what the first lines of a run tell about. The referenced objects must outlive the call.
struct AnnouncedRun {
    const RunConfig& config;
    const TrainingPlan& plan;
    const train::TrainOptions& options;
    const comm::DataPlace& place;
    model::Model& model;
    std::size_t trained_parameters;
    std::int64_t rows_per_epoch;
};

// Logs the first lines of a run: what is trained, by which ranks, on which cores, and until when.
// Collective.
void announce(const AnnouncedRun& run, Job& job, Log& log);

}  // namespace lockstep::launcher
