// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/coverage.hpp"
#include "data/lane_stream.hpp"
#include "runtime/train/step_source.hpp"

namespace lockstep::data {

// A step of a rank, not built yet.
struct StepPlan {
    train::Position position;
    std::vector<MicroBatch> lanes;
    std::int64_t lanes_finished = 0;
    double epoch_done = 0;
};

struct RankLanes {
    std::uint64_t seed = 0;
    std::int64_t lanes = 1;
    int rank = 0, world = 1;  // rank r has the lanes with lane % world == r
    std::int64_t block_rows = 1;
    std::int64_t window_batches = 1;
};

// Rows used, and how many of them were cut.
struct Usage {
    Coverage coverage;
    std::int64_t truncated_rows = 0;
};

// The endless sequence of a rank's steps: when its lanes have finished an epoch, it goes on with
// the next. Every epoch has at least one step, though it may be empty.
class StepPlanner {
public:
    StepPlanner(std::unique_ptr<RowStore> store, std::vector<std::int64_t> shard_rows,
                const BatchRules& rules, const RankLanes& lanes);

    StepPlan next();
    // Continues from there without reading the tokens before; what the epoch's skipped steps used.
    Usage seek(train::Position position);

    // These never change, so that any thread may ask.
    const BatchRules& rules() const noexcept { return rules_; }
    std::int64_t lanes() const noexcept;  // of this rank
    std::int64_t rows() const noexcept;   // of all lanes

private:
    void begin_epoch(std::int64_t epoch);
    std::int64_t finished() const noexcept;

    std::unique_ptr<RowStore> store_;
    std::vector<std::int64_t> shard_rows_;
    BatchRules rules_;
    RankLanes options_;
    std::vector<LaneStream> streams_;
    train::Position position_;                     // of the next step
    bool step_given_ = false;                      // of this epoch, since it began or since a seek
    std::int64_t epoch_rows_ = 0, rows_used_ = 0;  // of this rank
};

// Any thread may build any step.
train::StepBatches build_step(const StepPlan& plan, const BatchRules& rules);

}  // namespace lockstep::data
