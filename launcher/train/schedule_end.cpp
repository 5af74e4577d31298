// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/schedule_end.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/options/batching.hpp"
#include "launcher/options/schedule_checks.hpp"
#include "launcher/train/continuation.hpp"

namespace lockstep::launcher {

namespace {

// Steps count, also those that fp16 skipped: only they are the same wherever a run is continued.
std::int64_t moved(const plan::CountedRun& run, const Continuation& continued) {
    const auto batching = train_batching(run.config, run.model, run.data.first());
    const bool same = continued.dealing && continued.dealing->now.batching == batching &&
                      !data_change(continued, run.data, run.weights).is_other;
    if (same && continued.schedule_moved) return *continued.schedule_moved;
    train::Position position = continued.trainer.position;
    // Checkpoints of earlier versions do not know the rows.
    position.rows_in_epoch = std::max<std::int64_t>(0, position.rows_in_epoch);
    return continued.trainer.step - plan::updates_before(run, position);
}

}  // namespace

void to_json(nlohmann::json& json, const ScheduleEnd& end) {
    json = {{"updates", end.updates}, {"moved", end.moved}};
}

void from_json(const nlohmann::json& json, ScheduleEnd& end) {
    json.at("updates").get_to(end.updates);
    json.at("moved").get_to(end.moved);
}

ScheduleEnd schedule_end(const plan::CountedRun& run, const Continuation* continued) {
    if (!counts_epochs(run.config)) return {run.config.train.limits.max_train_steps};
    ScheduleEnd end{plan::updates_of_epochs(run)};
    if (continued == nullptr) return end;
    end.moved = moved(run, *continued);
    end.updates = std::max(end.updates + end.moved, continued->trainer.step);
    return end;
}

}  // namespace lockstep::launcher
