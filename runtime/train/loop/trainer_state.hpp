// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runtime/batch/step_source.hpp"
#include "runtime/kernels/loss_scale.hpp"

namespace lockstep::train {

// What a learning-rate schedule remembers of the validations; the rest follows from `updates`.
struct ScheduleState {
    double factor = 1;        // product of the decays so far
    int bad_validations = 0;  // since the best loss or the last decay
    std::int64_t validations = 0;
    std::optional<double> best_loss;
};

struct ValidationState {
    std::optional<double> best;     // of the metric that decides
    int without_better = 0;         // validations since then
    std::int64_t last_updates = 0;  // at the last validation
    double last_epochs = 0;
};

// Everything but weights and optimizer buffers that a run needs to continue as if never stopped.
// The same on all ranks.
struct TrainerState {
    Position position;         // of the next step
    std::int64_t step = 0;     // steps taken, successful or not
    std::int64_t updates = 0;  // successful ones
    double epochs = 0;         // with the fraction of the current one
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    std::int64_t tokens = 0;  // label tokens trained on, in all
    std::int64_t rows = 0;
    std::int64_t update_tokens = 1;  // of the last step; sets the next step's N0
    int nonfinite_in_a_row = 0;
    std::optional<kernels::LossScale> loss_scale;  // where it moves: fp16
    double seconds = 0;                            // of training, over all runs, by rank 0's clock
    ScheduleState schedule;
    ValidationState validation;
};

void to_json(nlohmann::json& json, const TrainerState& state);
// Throws nlohmann's exceptions where a member is missing or of another type.
void from_json(const nlohmann::json& json, TrainerState& state);

}  // namespace lockstep::train
