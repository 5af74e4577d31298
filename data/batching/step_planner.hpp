// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batching/dealing.hpp"
#include "data/batching/lane_stream.hpp"
#include "data/batching/mixture.hpp"
#include "runtime/batch/lane_range.hpp"
#include "runtime/batch/step_source.hpp"

namespace lockstep::data {

// Describes a planned step of a rank, which is not built yet.
struct StepPlan {
    train::Position position;
    std::vector<MicroBatch> lanes;
    std::int64_t lanes_finished = 0;  // as in train::StepBatches
    bool finished = false;            // all lanes of this rank
};

// Holds a built step, and the rows that it uses.
struct BuiltStep {
    train::StepBatches batches;
    bool finished = false;  // as in StepPlan
    Usage usage;
};

struct RankLanes {
    std::uint64_t seed = 0;
    std::int64_t lanes = 1;
    int rank = 0, world = 1;  // train::share_of_rank() says what the rank has of the lanes
    std::int64_t window_batches = 1;
    train::LaneSharing sharing = train::LaneSharing::divided;
};

// Yields the endless sequence of a rank's steps. When the rank's lanes have finished an epoch, the
// next epoch begins. Every epoch has at least one step, which may be empty.
class StepPlanner {
public:
    StepPlanner(std::unique_ptr<RowStore> store, Mixture mixture, const BatchRules& rules,
                const RankLanes& lanes, DealtEpoch earlier = {});

    StepPlan next();
    // Continues from `position` without reading the tokens before it. In the epoch of `earlier` the
    // steps before are those of its rules. Returns the usage up to that position.
    Usage seek(train::Position position);

    // Builds a planned step. build(), mixture() and empty_step() read constant data only: any
    // thread may call them.
    BuiltStep build(const StepPlan& plan) const;
    const Mixture& mixture() const noexcept { return mixture_; }
    // Returns a step after the end of this rank's lanes.
    BuiltStep empty_step(train::Position position) const;
    std::int64_t window_batches() const noexcept { return options_.window_batches; }

private:
    void begin_epoch(std::int64_t epoch);
    void skip_to(std::int64_t step, const BatchRules& rules, Usage& usage);
    void replan(const BatchRules& rules, std::int64_t window_batches);
    std::int64_t finished() const noexcept;
    std::int64_t lanes() const noexcept { return share_.lanes.count(); }
    std::int64_t counted() const noexcept { return share_.part.first() ? lanes() : 0; }
    std::span<const RowExtent> own(std::span<const RowExtent> rows) const noexcept;
    LaneOfEpoch lane_of(std::size_t stream, std::int64_t epoch) const noexcept;

    std::unique_ptr<RowStore> store_;
    const Mixture mixture_;
    BatchRules rules_;
    RankLanes options_;
    train::RankShare share_;
    DealtEpoch earlier_;
    std::vector<LaneStream> streams_;
    train::Position position_;  // position of the next step
    bool step_given_ = false;   // a step of this epoch was given since its begin or a seek
};

}  // namespace lockstep::data
