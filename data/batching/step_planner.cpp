// SPDX-License-Identifier: Apache-2.0
#include "data/batching/step_planner.hpp"

#include <algorithm>
#include <utility>

#include "data/batching/batch_builder.hpp"

namespace lockstep::data {

StepPlanner::StepPlanner(std::unique_ptr<RowStore> store, Mixture mixture, const BatchRules& rules,
                         const RankLanes& lanes, DealtEpoch earlier)
    : store_(std::move(store)),
      mixture_(std::move(mixture)),
      rules_(rules),
      options_(lanes),
      earlier_(std::move(earlier)) {
    begin_epoch(0);
}

LaneOfEpoch StepPlanner::lane_of(std::size_t stream, std::int64_t epoch) const noexcept {
    const std::int64_t number = options_.rank + static_cast<std::int64_t>(stream) * options_.world;
    return {options_.seed, epoch, {number, options_.lanes}};
}

void StepPlanner::begin_epoch(std::int64_t epoch) {
    streams_.clear();
    epoch_rows_ = rows_used_ = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(lanes()); ++i) {
        const LaneOfEpoch part = lane_of(i, epoch);
        auto feed = mixture_.feed(*store_, part);
        epoch_rows_ += feed->rows();
        streams_.emplace_back(
            LanePlanner(std::move(feed), rules_, {options_.seed, epoch, part.lane.number},
                        options_.window_batches, RowOrder::shuffled),
            *store_);
    }
    position_ = {epoch, 0};
    step_given_ = false;
}

std::int64_t StepPlanner::lanes() const noexcept {
    return (options_.lanes - options_.rank + options_.world - 1) / options_.world;
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
        epoch_rows_ == 0
            ? 1.0
            : std::min(1.0, static_cast<double>(rows_used_) / static_cast<double>(epoch_rows_));
    ++position_.step_in_epoch;
    step_given_ = true;
    return plan;
}

void StepPlanner::skip_to(std::int64_t step, const BatchRules& rules, Usage& usage) {
    for (; position_.step_in_epoch < step && finished() < lanes(); ++position_.step_in_epoch)
        for (LaneStream& stream : streams_)
            for (const RowExtent& row : stream.skip()) {
                mixture_.add(usage, position_.epoch, row);
                usage.truncated_rows += rules.fit(row).truncated ? 1 : 0;
                ++usage.rows;
            }
    position_.step_in_epoch = step;
}

void StepPlanner::replan(const BatchRules& rules, std::int64_t window_batches) {
    for (LaneStream& stream : streams_) stream.replan(rules, window_batches);
}

Usage StepPlanner::seek(train::Position position) {
    begin_epoch(position.epoch);
    Usage usage;
    usage.sets.resize(mixture_.sets().size());
    for (std::size_t i = 0; i < streams_.size(); ++i)
        mixture_.add_before(usage, *store_, lane_of(i, position.epoch));
    if (position.epoch == earlier_.epoch && !earlier_.parts.empty()) {
        for (const DealtEpoch::Part& part : earlier_.parts) {
            replan(part.dealing.rules, part.dealing.window_batches);
            skip_to(std::min(part.end_step, position.step_in_epoch), part.dealing.rules, usage);
        }
        replan(rules_, options_.window_batches);
    }
    skip_to(position.step_in_epoch, rules_, usage);
    rows_used_ = usage.rows;
    position_ = position;
    return usage;
}

BuiltStep StepPlanner::build(const StepPlan& plan) const {
    BuiltStep built;
    train::StepBatches& step = built.batches;
    step.position = plan.position;
    step.lanes_finished = plan.lanes_finished;
    step.epoch_done = plan.epoch_done;
    built.usage.sets.resize(mixture_.sets().size());
    for (const MicroBatch& lane : plan.lanes) {
        train::Batch& batch = step.lanes.emplace_back();
        if (lane.empty()) continue;
        batch = build_batch(*lane.window, lane.number, rules_);
        built.usage.truncated_rows += batch.truncated_rows;
        built.usage.rows += static_cast<std::int64_t>(lane.rows());
        for (const RowExtent& row : lane.window->rows(lane.number))
            mixture_.add(built.usage, plan.position.epoch, row);
    }
    return built;
}

}  // namespace lockstep::data
