// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "data/batching/step_planner.hpp"
#include "data/loading/step_loader.hpp"
#include "data/loading/step_pipeline.hpp"

namespace lockstep::data {

// Loads a rank's steps as its planner gives them. They are built in next(), or ahead by
// `num_workers` threads.
class LaneStepLoader final : public StepLoader {
public:
    LaneStepLoader(std::unique_ptr<StepPlanner> planner, int num_workers);

    train::StepBatches next() override;
    void next_epoch() override;
    void seek(train::Position position) override;
    std::int64_t rows_per_epoch() const override { return planner_->mixture().rows_per_epoch(); }
    std::vector<SetShare> sets() const override { return planner_->mixture().shares(); }
    const Usage& usage() const override { return usage_; }

private:
    BuiltStep prepared_step();
    BuiltStep empty_step() const;

    std::unique_ptr<StepPlanner> planner_;
    int num_workers_;
    std::optional<StepPipeline> pipeline_;  // runs from the first next() to the next seek
    train::Position position_;              // position of the next step
    Usage usage_;
    bool finished_ = false;  // this rank's lanes have finished this epoch
};

}  // namespace lockstep::data
