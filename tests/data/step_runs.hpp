// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "data/loading/step_loader.hpp"

namespace lockstep::tests {

// Everything of a batch that a model sees.
using Content =
    std::tuple<std::vector<std::uint32_t>, std::vector<std::int32_t>, std::vector<std::int32_t>,
               std::vector<std::int32_t>, std::vector<std::int32_t>, std::vector<std::int32_t>>;

inline Content content(const train::Batch& b) {
    return {b.rows, b.source.tokens, b.source.offsets, b.target.tokens, b.labels, b.target.offsets};
}

struct Epochs {
    std::vector<std::vector<Content>> steps;  // lanes of all ranks, in lane order
    std::vector<data::Usage> usage;           // summed over ranks, at the end of each epoch
    std::vector<std::int64_t> steps_of_epoch;
};

// Runs the ranks of setup.rank(rank, world) side by side as a trainer does: an epoch ends when all
// lanes of all ranks have.
template <class Setup>
Epochs run(const Setup& setup, int world, int epochs) {
    std::vector<std::unique_ptr<data::StepLoader>> ranks;
    for (int r = 0; r < world; ++r) ranks.push_back(setup.rank(r, world));
    Epochs result;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        std::int64_t finished = 0, steps = 0;
        while (finished < setup.lanes) {
            std::vector<Content> lanes(static_cast<std::size_t>(setup.lanes));
            finished = 0;
            for (int r = 0; r < world; ++r) {
                const train::StepBatches step = ranks[static_cast<std::size_t>(r)]->next();
                REQUIRE(step.position.epoch == epoch);
                REQUIRE(step.position.step_in_epoch == steps);
                for (std::size_t i = 0; i < step.lanes.size(); ++i)
                    lanes[static_cast<std::size_t>(r) + i * static_cast<std::size_t>(world)] =
                        content(step.lanes[i]);
                finished += step.lanes_finished;
            }
            result.steps.push_back(lanes);
            ++steps;
        }
        data::Usage sum;
        for (auto& rank : ranks) {
            sum += rank->usage();
            rank->next_epoch();
        }
        result.usage.push_back(sum);
        result.steps_of_epoch.push_back(steps);
    }
    return result;
}

}  // namespace lockstep::tests
