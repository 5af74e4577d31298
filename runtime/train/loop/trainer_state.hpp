// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "runtime/batch/step_source.hpp"
#include "runtime/kernels/loss_scale.hpp"

namespace lockstep::train {

// Holds the part of a learning-rate schedule's state that depends on validations; the rest follows
// from `updates`.
struct ScheduleState {
    double factor = 1;        // product of the decays so far
    int bad_validations = 0;  // number since the best loss or the last decay
    std::int64_t validations = 0;
    std::optional<double> best_loss;
};

struct ValidationState {
    std::optional<double> best;     // best value of the deciding metric
    int without_better = 0;         // validations since the best one
    std::optional<double> last;     // its value at the last validation
    std::int64_t last_updates = 0;  // updates at the last validation
    double last_epochs = 0;
    double since_s = 0;  // seconds of training since the last validation, by rank 0's clock
};

// Holds everything a run needs, besides weights and optimizer buffers, to continue as if it had
// never stopped. It is the same on all ranks.
struct TrainerState {
    Position position;         // position of the next step
    std::int64_t step = 0;     // steps taken, successful or not
    std::int64_t updates = 0;  // successful steps
    double epochs = 0;         // including the fraction of the current epoch
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    std::int64_t tokens = 0;  // label tokens trained on, in total
    std::int64_t rows = 0;
    std::int64_t update_tokens = 1;  // tokens of the last step; sets the next step's N0
    int nonfinite_in_a_row = 0;
    std::optional<kernels::LossScale> loss_scale;  // only a dynamic one (fp16)
    double seconds = 0;                            // training time over all runs, by rank 0's clock
    ScheduleState schedule;
    ValidationState validation;
    std::string ended;  // why the run came to its end, in words; empty: it did not
};

void to_json(nlohmann::json& json, const TrainerState& state);
// Throws a data error that names the member if one is missing, has another type, or has a value
// that no run reaches.
// `path` is the file that the JSON is the member "trainer" of.
TrainerState trainer_state_of(const nlohmann::json& json, const std::string& path);
void from_json(const nlohmann::json& json, TrainerState& state);

}  // namespace lockstep::train
