// SPDX-License-Identifier: Apache-2.0
#include "data/step_planner.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/batch_builder.hpp"

namespace lockstep::data {

StepPlanner::StepPlanner(std::unique_ptr<RowStore> store, std::vector<std::int64_t> shard_rows,
                         const BatchRules& rules, const RankLanes& lanes)
    : store_(std::move(store)), shard_rows_(std::move(shard_rows)), rules_(rules), options_(lanes) {
    begin_epoch(0);
}

void StepPlanner::begin_epoch(std::int64_t epoch) {
    streams_.clear();
    epoch_rows_ = rows_used_ = 0;
    for (std::int64_t lane = options_.rank; lane < options_.lanes; lane += options_.world) {
        auto blocks = lane_blocks(shard_rows_, options_.block_rows, {lane, options_.lanes});
        for (const RowBlock& block : blocks) epoch_rows_ += block.rows;
        streams_.emplace_back(
            LanePlanner(*store_, rules_, std::move(blocks), {options_.seed, epoch, lane},
                        options_.window_batches, RowOrder::shuffled),
            *store_);
    }
    position_ = {epoch, 0};
    step_given_ = false;
}

std::int64_t StepPlanner::lanes() const noexcept {
    return (options_.lanes - options_.rank + options_.world - 1) / options_.world;
}

std::int64_t StepPlanner::rows() const noexcept {
    return std::accumulate(shard_rows_.begin(), shard_rows_.end(), std::int64_t{0});
}

std::int64_t StepPlanner::finished() const noexcept {
    return std::count_if(streams_.begin(), streams_.end(),
                         [](const LaneStream& stream) { return stream.finished(); });
}

StepPlan StepPlanner::next() {
    if (step_given_ && finished() == lanes()) begin_epoch(position_.epoch + 1);
    StepPlan plan;
    plan.position = position_;
    for (LaneStream& stream : streams_) {
        plan.lanes.push_back(stream.next());
        rows_used_ += static_cast<std::int64_t>(plan.lanes.back().rows());
    }
    plan.lanes_finished = finished();
    plan.epoch_done =
        epoch_rows_ == 0 ? 1.0 : static_cast<double>(rows_used_) / static_cast<double>(epoch_rows_);
    ++position_.step_in_epoch;
    step_given_ = true;
    return plan;
}

Usage StepPlanner::seek(train::Position position) {
    begin_epoch(position.epoch);
    Usage usage;
    usage.coverage.epoch = position.epoch;
    for (std::int64_t step = 0; step < position.step_in_epoch && finished() < lanes(); ++step)
        for (LaneStream& stream : streams_)
            for (const RowPlace& row : stream.skip()) {
                usage.coverage.add({&row.row, 1});
                usage.truncated_rows += rules_.fit(row).truncated ? 1 : 0;
            }
    rows_used_ = usage.coverage.rows;
    position_ = position;
    return usage;
}

train::StepBatches build_step(const StepPlan& plan, const BatchRules& rules) {
    train::StepBatches step;
    step.position = plan.position;
    step.lanes_finished = plan.lanes_finished;
    step.epoch_done = plan.epoch_done;
    for (const MicroBatch& lane : plan.lanes)
        step.lanes.push_back(lane.empty() ? train::Batch{}
                                          : build_batch(*lane.window, lane.number, rules));
    return step;
}

}  // namespace lockstep::data
