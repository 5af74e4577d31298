// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep::train {

// Tells which of the ranks that have the layers of a model one after the other this one is. The
// first one has the embeddings, and the last one the head.
struct PipelineStage {
    int number = 0, stages = 1;

    bool is_whole() const noexcept { return stages == 1; }
    bool is_first() const noexcept { return number == 0; }
    bool is_last() const noexcept { return number + 1 == stages; }
    // Returns how many micro-batches of a step are between forward and backward at most.
    std::int64_t in_flight(std::int64_t micro_batches) const noexcept {
        return std::min<std::int64_t>(stages - number, micro_batches);
    }
    bool operator==(const PipelineStage&) const = default;
};

}  // namespace lockstep::train
