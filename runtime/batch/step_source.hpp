// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/batch/batch.hpp"

namespace lockstep::train {

// Gives the position of a run in its data.
struct Position {
    std::int64_t epoch = 0;          // from 0
    std::int64_t step_in_epoch = 0;  // steps of this epoch already taken
    // Rows of this epoch that those steps used, over all ranks; -1: not known.
    std::int64_t rows_in_epoch = 0;
};

// Holds the work of one rank in one step: a micro-batch from each of its lanes, or its part of
// one, in lane order (share_of_rank() of lane_range.hpp). A lane without rows left gives an empty
// batch.
struct StepBatches {
    Position position;  // of this step
    std::vector<Batch> lanes;
    // Number of lanes that this rank counts: one of the ranks that divide a lane counts it, and its
    // batch of the lane is empty only if the others' are.
    std::int64_t lanes_counted = 0;
    // Counted lanes that have finished: their last batch is this one or an earlier one.
    std::int64_t lanes_finished = 0;
};

// Yields an endless sequence of steps. The caller ends an epoch (next_epoch) once all lanes of all
// ranks have finished. Until then, next() gives empty batches for finished lanes.
class StepSource {
public:
    virtual ~StepSource() = default;

    virtual StepBatches next() = 0;
    virtual void next_epoch() = 0;
    // Continues from `position`, exactly as if every earlier step had been taken.
    virtual void seek(Position position) = 0;
    virtual std::int64_t rows_per_epoch() const = 0;  // over all lanes
};

// Yields the rows of an evaluation set that belong to this rank. Each row belongs to exactly one
// rank.
class EvalSource {
public:
    virtual ~EvalSource() = default;

    virtual bool next(Batch& batch) = 0;  // false at the end
    virtual void rewind() = 0;
};

}  // namespace lockstep::train
