// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/train/pipeline_stage.hpp"

namespace lockstep::train {

enum class Way { forward, backward };

// What a stage computes between two exchanges with its neighbours.
struct StageTurn {
    Way way = Way::forward;
    std::int64_t micro_batch = 0;

    bool operator==(const StageTurn&) const = default;
};

// Returns the turns of a stage in a step, one forward and one backward in turn as soon as the
// stages behind it have work (1F1B, arXiv 2006.09503). A micro-batch takes the slot of the one
// that came in_flight() before it, whose backward is over. Between two turns a stage makes one
// exchange: it sends what the turn before has calculated, and receives what the next one reads. So
// no stage waits for ever, however few micro-batches there are.
std::vector<StageTurn> turns_of(const PipelineStage& stage, std::int64_t micro_batches);

// Tell to which stage the result of a turn goes, and from which one comes what it reads; -1: none.
int receiver_of(const PipelineStage& stage, const StageTurn& turn) noexcept;
int sender_for(const PipelineStage& stage, const StageTurn& turn) noexcept;

}  // namespace lockstep::train
