// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/batch/batch.hpp"

namespace lockstep::train {

// Where a run stands in its data.
struct Position {
    std::int64_t epoch = 0;          // from 0
    std::int64_t step_in_epoch = 0;  // steps of this epoch already taken
};

// What one rank does in one step: a micro-batch from each of its lanes, in lane order. A lane that
// has run dry gives an empty batch.
struct StepBatches {
    Position position;  // of this step
    std::vector<Batch> lanes;
    std::int64_t lanes_finished =
        0;                  // of this rank's lanes: this batch was the last, or it was dry
    double epoch_done = 0;  // share of the epoch done after this step, 0..1, an estimate
};

// The endless sequence of steps. The caller ends an epoch (next_epoch) once all lanes of all ranks
// have finished; asking on gives empty batches.
class StepSource {
public:
    virtual ~StepSource() = default;

    virtual StepBatches next() = 0;
    virtual void next_epoch() = 0;
    // Continue from there, exactly as if every earlier step had been taken.
    virtual void seek(Position position) = 0;
    virtual std::int64_t rows_per_epoch() const = 0;  // over all lanes
};

// Rows of an evaluation set that belong to this rank, each exactly once over all ranks.
class EvalSource {
public:
    virtual ~EvalSource() = default;

    virtual bool next(Batch& batch) = 0;  // false at the end
    virtual void rewind() = 0;
};

}  // namespace lockstep::train
