// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "model/parameter_rows.hpp"
#include "runtime/train/pipeline_stage.hpp"

namespace lockstep::model {

// The layers from `first` up to, but not including, `end`.
struct LayerRange {
    std::int64_t first = 0, end = 0;

    std::int64_t count() const noexcept { return end - first; }
};

// Returns the layers of a stage. The multiplications of the stage that has the most are as few as
// they can be: those of the head count as layers of the last stage.
LayerRange layers_of(const ModelConfig& config, const train::PipelineStage& stage);

// Returns those of parameter_rows() that a stage has. A norm that belongs to the block of a layer
// but is the first one of the next stage's first layer is that stage's Role::first_norm. The last
// stage has a tied table, too: behind its layers, as the first one has it, so that ranks which
// share a replica own the same part of both.
std::vector<ParameterRow> parameter_rows(const ModelConfig& config,
                                         const train::PipelineStage& stage);

// Tells whether the stage ends with the sum of a layer, whose norm the next stage has.
bool ends_with_sum(const ModelConfig& config, const train::PipelineStage& stage);

// Throws kind config, with the nearest number that works, if the model has no such stages.
void require_stages(const ModelConfig& config, int stages);

// Returns the number nearest to `stages` that the model can have and that divides the ranks.
int nearest_stages(const ModelConfig& config, int stages, int ranks);

}  // namespace lockstep::model
