// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/stage_turns.hpp"

namespace lockstep::train {

std::vector<StageTurn> turns_of(const PipelineStage& stage, std::int64_t micro_batches) {
    std::vector<StageTurn> turns;
    const std::int64_t ahead = stage.in_flight(micro_batches);
    for (std::int64_t i = 0; i < micro_batches + ahead; ++i) {
        if (i < micro_batches) turns.push_back({Way::forward, i});
        if (i + 1 >= ahead && i + 1 - ahead < micro_batches)
            turns.push_back({Way::backward, i + 1 - ahead});
    }
    return turns;
}

int receiver_of(const PipelineStage& stage, const StageTurn& turn) noexcept {
    if (turn.way == Way::forward) return stage.is_last() ? -1 : stage.number + 1;
    return stage.number - 1;
}

int sender_for(const PipelineStage& stage, const StageTurn& turn) noexcept {
    if (turn.way == Way::forward) return stage.number - 1;
    return stage.is_last() ? -1 : stage.number + 1;
}

}  // namespace lockstep::train
