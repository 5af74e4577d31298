// SPDX-License-Identifier: Apache-2.0
#include "data/loading/lane_step_loader.hpp"

#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::data {

LaneStepLoader::LaneStepLoader(std::unique_ptr<StepPlanner> planner, int num_workers)
    : planner_(std::move(planner)), num_workers_(num_workers) {
    usage_.sets.resize(planner_->mixture().sets().size());
}

BuiltStep LaneStepLoader::prepared_step() {
    if (num_workers_ == 0) return planner_->build(planner_->next());
    if (!pipeline_) pipeline_.emplace(*planner_, num_workers_);
    return pipeline_->next();
}

BuiltStep LaneStepLoader::empty_step() const {
    BuiltStep built;
    train::StepBatches& step = built.batches;
    step.position = position_;
    step.lanes.resize(static_cast<std::size_t>(planner_->lanes()));
    step.lanes_finished = planner_->lanes();
    step.epoch_done = 1;
    return built;
}

train::StepBatches LaneStepLoader::next() {
    // After the end of this rank's lanes, the prepared steps belong to the next epoch.
    BuiltStep built = finished_ ? empty_step() : prepared_step();
    const train::StepBatches& step = built.batches;
    require(step.position.epoch == position_.epoch &&
                step.position.step_in_epoch == position_.step_in_epoch,
            "prepared steps are those asked for");
    finished_ = step.lanes_finished == planner_->lanes();
    ++position_.step_in_epoch;
    usage_ += built.usage;
    return std::move(built.batches);
}

void LaneStepLoader::next_epoch() {
    const train::Position begin{position_.epoch + 1, 0};
    if (!finished_) return seek(begin);
    position_ = begin;
    usage_ = planner_->mixture().carried(usage_, begin.epoch);
    finished_ = false;
}

void LaneStepLoader::seek(train::Position position) {
    pipeline_.reset();
    usage_ = planner_->seek(position);
    position_ = position;
    finished_ = false;
}

}  // namespace lockstep::data
