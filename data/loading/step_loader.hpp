// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "data/batching/coverage.hpp"
#include "data/batching/set_share.hpp"
#include "data/batching/step_planner.hpp"
#include "data/loading/step_pipeline.hpp"
#include "data/storage/dataset.hpp"
#include "runtime/batch/step_source.hpp"

namespace lockstep::data {

// Determines how the rows of a lane become micro-batches. A checkpoint keeps it.
struct DealingOptions {
    BatchingOptions batching;
    std::int64_t window_batches = 0;

    friend bool operator==(const DealingOptions&, const DealingOptions&) = default;
};

// Describes the beginning of an epoch that was dealt by other options than the rest: the steps up
// to end_step by `dealing`, and so on.
struct EarlierDealings {
    struct Part {
        DealingOptions dealing;
        std::int64_t end_step = 0;
    };
    std::int64_t epoch = 0;
    std::vector<Part> parts;
};

struct StepLoaderOptions {
    std::vector<double> weights;  // only with several data sets; see share_epoch()
    BatchingOptions batching;
    std::string split = "train";
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    int rank = 0;
    int world = 1;
    train::LaneSharing sharing = train::LaneSharing::divided;  // if there are more ranks than lanes
    // This many threads build batches ahead, in addition to one that plans and reads; 0: next()
    // does everything. The steps are the same for any number.
    int num_workers = 0;
    // A lane sorts and shuffles this many micro-batches at a time; 0: chosen from the size of a
    // micro-batch.
    std::int64_t window_batches = 0;
    // A continued run repeats the sizes of the blocks of rows that are dealt to lanes; empty:
    // chosen from the window.
    std::vector<std::int64_t> block_rows;
    EarlierDealings earlier;
};

// Loads a rank's steps as its planner gives them, and can prove which rows it has given. Steps are
// built in next(), or ahead by `num_workers` threads, whose errors next() throws.
class StepLoader final : public train::StepSource {
public:
    StepLoader(std::unique_ptr<StepPlanner> planner, int num_workers);

    train::StepBatches next() override;
    void next_epoch() override;
    void seek(train::Position position) override;
    std::int64_t rows_per_epoch() const override { return planner_->mixture().rows_per_epoch(); }
    std::vector<SetShare> sets() const { return planner_->mixture().shares(); }
    std::vector<std::int64_t> block_rows() const { return planner_->mixture().block_rows(); }
    std::int64_t window_batches() const { return planner_->window_batches(); }
    // Returns the usage of the current epoch, including the steps before a seek.
    const Usage& usage() const { return usage_; }

private:
    BuiltStep prepared_step();

    std::unique_ptr<StepPlanner> planner_;
    int num_workers_;
    std::optional<StepPipeline> pipeline_;  // runs from the first next() to the next seek
    train::Position position_;              // position of the next step
    Usage usage_;
    bool finished_ = false;  // this rank's lanes have finished this epoch
};

// Opens a source of one data set, or of several of the same kind and dictionary. Throws a config
// error if options are out of range or do not fit the kind of data. With one data set, shards that
// no lane of this rank reads are never opened; with several, any rank may read any shard.
std::unique_ptr<StepLoader> open_step_source(std::span<const Dataset> datasets,
                                             const StepLoaderOptions& options);

}  // namespace lockstep::data
