// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batching/lane_stream.hpp"
#include "data/batching/mixture.hpp"
#include "runtime/batch/step_source.hpp"

namespace lockstep::data {

// A step of a rank, not built yet.
struct StepPlan {
    train::Position position;
    std::vector<MicroBatch> lanes;
    std::int64_t lanes_finished = 0;
    double epoch_done = 0;
};

// A step that is built, and what it uses.
struct BuiltStep {
    train::StepBatches batches;
    Usage usage;
};

struct RankLanes {
    std::uint64_t seed = 0;
    std::int64_t lanes = 1;
    int rank = 0, world = 1;  // rank r has the lanes with lane % world == r
    std::int64_t window_batches = 1;
};

// The endless sequence of a rank's steps: when its lanes have finished an epoch, it goes on with
// the next. Every epoch has at least one step, though it may be empty.
class StepPlanner {
public:
    StepPlanner(std::unique_ptr<RowStore> store, Mixture mixture, const BatchRules& rules,
                const RankLanes& lanes);

    StepPlan next();
    // Continues from there without reading the tokens before; what was used until there.
    Usage seek(train::Position position);

    // What follows never changes, so that any thread may ask.
    BuiltStep build(const StepPlan& plan) const;
    const Mixture& mixture() const noexcept { return mixture_; }
    std::int64_t lanes() const noexcept;  // of this rank

private:
    void begin_epoch(std::int64_t epoch);
    std::int64_t finished() const noexcept;
    LaneOfEpoch lane_of(std::size_t stream, std::int64_t epoch) const noexcept;

    std::unique_ptr<RowStore> store_;
    const Mixture mixture_;
    BatchRules rules_;
    RankLanes options_;
    std::vector<LaneStream> streams_;
    train::Position position_;                     // of the next step
    bool step_given_ = false;                      // of this epoch, since it began or since a seek
    std::int64_t epoch_rows_ = 0, rows_used_ = 0;  // of this rank
};

}  // namespace lockstep::data
