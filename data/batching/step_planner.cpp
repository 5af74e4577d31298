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
      share_(train::share_of_rank(lanes.lanes, lanes.rank, lanes.world, lanes.sharing)),
      earlier_(std::move(earlier)) {
    begin_epoch(0);
}

LaneOfEpoch StepPlanner::lane_of(std::size_t stream, std::int64_t epoch) const noexcept {
    const std::int64_t number = share_.lanes.first + static_cast<std::int64_t>(stream);
    return {options_.seed, epoch, {number, options_.lanes}};
}

void StepPlanner::begin_epoch(std::int64_t epoch) {
    streams_.clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(lanes()); ++i) {
        const LaneOfEpoch part = lane_of(i, epoch);
        auto feed = mixture_.feed(*store_, part);
        streams_.emplace_back(
            LanePlanner(std::move(feed), rules_, {options_.seed, epoch, part.lane.number},
                        options_.window_batches, RowOrder::shuffled),
            *store_);
    }
    position_ = {epoch, 0};
    step_given_ = false;
}

// Returns this rank's part of a micro-batch's rows.
std::span<const RowExtent> StepPlanner::own(std::span<const RowExtent> rows) const noexcept {
    const std::size_t begin = share_.part.begin(rows.size());
    return rows.subspan(begin, share_.part.end(rows.size()) - begin);
}

std::int64_t StepPlanner::finished() const noexcept {
    return std::count_if(streams_.begin(), streams_.end(),
                         [](const LaneStream& stream) { return stream.finished(); });
}

StepPlan StepPlanner::next() {
    if (step_given_ && finished() == lanes()) begin_epoch(position_.epoch + 1);
    StepPlan plan;
    plan.position = position_;
    for (LaneStream& stream : streams_) plan.lanes.push_back(stream.next());
    plan.finished = finished() == lanes();
    plan.lanes_finished = share_.part.first() ? finished() : 0;
    ++position_.step_in_epoch;
    step_given_ = true;
    return plan;
}

void StepPlanner::skip_to(std::int64_t step, const BatchRules& rules, Usage& usage) {
    for (; position_.step_in_epoch < step && finished() < lanes(); ++position_.step_in_epoch)
        for (LaneStream& stream : streams_)
            for (const RowExtent& row : own(stream.skip())) {
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
    for (std::size_t i = 0; i < streams_.size() && share_.part.first(); ++i)
        mixture_.add_before(usage, *store_, lane_of(i, position.epoch));
    if (position.epoch == earlier_.epoch && !earlier_.parts.empty()) {
        for (const DealtEpoch::Part& part : earlier_.parts) {
            replan(part.dealing.rules, part.dealing.window_batches);
            skip_to(std::min(part.end_step, position.step_in_epoch), part.dealing.rules, usage);
        }
        replan(rules_, options_.window_batches);
    }
    skip_to(position.step_in_epoch, rules_, usage);
    position_ = position;
    return usage;
}

BuiltStep StepPlanner::build(const StepPlan& plan) const {
    BuiltStep built;
    train::StepBatches& step = built.batches;
    step.position = plan.position;
    step.lanes_counted = counted();
    step.lanes_finished = plan.lanes_finished;
    built.finished = plan.finished;
    built.usage.sets.resize(mixture_.sets().size());
    for (const MicroBatch& lane : plan.lanes) {
        train::Batch& batch = step.lanes.emplace_back();
        if (lane.empty()) continue;
        batch = build_batch(*lane.window, lane.number, rules_, share_.part);
        built.usage.truncated_rows += batch.truncated_rows;
        built.usage.rows += static_cast<std::int64_t>(batch.rows.size());
        for (const RowExtent& row : own(lane.window->rows(lane.number)))
            mixture_.add(built.usage, plan.position.epoch, row);
    }
    return built;
}

BuiltStep StepPlanner::empty_step(train::Position position) const {
    BuiltStep built;
    train::StepBatches& step = built.batches;
    step.position = position;
    step.lanes.resize(static_cast<std::size_t>(lanes()));
    step.lanes_counted = step.lanes_finished = counted();
    built.finished = true;
    return built;
}

}  // namespace lockstep::data
