// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <numeric>
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
    std::vector<std::vector<Content>> steps;  // lanes of all ranks, or their parts, in lane order
    std::vector<std::vector<std::int64_t>> counted;  // of each of them: 1 if the rank counts it
    std::vector<data::Usage> usage;                  // summed over ranks, at the end of each epoch
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
            std::vector<Content> lanes;
            std::vector<std::int64_t> counted;
            finished = 0;
            for (int r = 0; r < world; ++r) {
                const train::StepBatches step = ranks[static_cast<std::size_t>(r)]->next();
                REQUIRE(step.position.epoch == epoch);
                REQUIRE(step.position.step_in_epoch == steps);
                for (const train::Batch& lane : step.lanes) lanes.push_back(content(lane));
                finished += step.lanes_finished;
                counted.insert(counted.end(), step.lanes.size(), 0);
                for (std::int64_t i = 0; i < step.lanes_counted; ++i)
                    counted[counted.size() - step.lanes.size() + static_cast<std::size_t>(i)] = 1;
            }
            result.steps.push_back(lanes);
            REQUIRE(std::accumulate(counted.begin(), counted.end(), std::int64_t{0}) ==
                    setup.lanes);
            result.counted.push_back(counted);
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

// Returns the rows of each lane in each step. The parts of a lane follow each other, and the first
// part is the one that is counted.
inline std::vector<std::vector<std::uint32_t>> rows_of_lanes(const Epochs& epochs,
                                                             std::size_t lanes) {
    std::vector<std::vector<std::uint32_t>> rows;
    for (std::size_t step = 0; step < epochs.steps.size(); ++step)
        for (std::size_t i = 0; i < epochs.steps[step].size(); ++i) {
            if (epochs.counted[step][i] == 1) rows.emplace_back();
            const auto& part = std::get<0>(epochs.steps[step][i]);
            rows.back().insert(rows.back().end(), part.begin(), part.end());
        }
    REQUIRE(rows.size() == lanes * epochs.steps.size());
    return rows;
}

}  // namespace lockstep::tests
