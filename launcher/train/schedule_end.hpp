// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "launcher/plan/run_updates.hpp"

namespace lockstep::launcher {

struct Continuation;

// Tells after how many updates the learning rate's schedule ends.
struct ScheduleEnd {
    std::int64_t updates = -1;  // of the whole run; <= 0: the schedule does not need them
    // So many of them, which may be below 0, are more than the epochs of a run with these options
    // and data have: earlier updates had other batches or data. A checkpoint keeps the number, so
    // that the end stays the same however often the run is continued.
    std::int64_t moved = 0;
};

void to_json(nlohmann::json& json, const ScheduleEnd& end);
void from_json(const nlohmann::json& json, ScheduleEnd& end);

// Returns the end of the run's schedule. `continued` is null for a new run.
ScheduleEnd schedule_end(const plan::CountedRun& run, const Continuation* continued);

}  // namespace lockstep::launcher
