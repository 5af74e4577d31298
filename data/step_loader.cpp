// SPDX-License-Identifier: Apache-2.0
#include "data/step_loader.hpp"

#include "data/lane_step_loader.hpp"
#include "data/shard_store.hpp"
#include "data/window_size.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

void check(const StepLoaderOptions& options) {
    require(options.world > 0 && options.rank >= 0 && options.rank < options.world,
            "a rank of the world");
    if (options.lanes < options.world)
        throw Error(ErrorKind::config, "--logical-shards " + std::to_string(options.lanes) +
                                           ": fewer than the " + std::to_string(options.world) +
                                           " ranks, of which each needs one; start fewer ranks");
    if (options.num_workers < 0)
        throw Error(ErrorKind::config, "--num-workers " + std::to_string(options.num_workers) +
                                           ": must not be negative");
}

}  // namespace

std::unique_ptr<StepLoader> open_step_source(const Dataset& dataset,
                                             const StepLoaderOptions& options) {
    check(options);
    const SplitInfo& split = dataset.split(options.split);
    if (split.rows == 0)
        throw Error(ErrorKind::data, dataset.directory() + ": split '" + options.split +
                                         "' has no rows; run 'lockstep prepare' with more text");
    const BatchRules rules(options.batching, dataset.kind());
    const WindowSize window = choose_window(split, rules, options.lanes, options.window_batches);
    const RankLanes lanes{options.seed,  options.lanes,     options.rank,
                          options.world, window.block_rows, window.batches};
    auto planner = std::make_unique<StepPlanner>(std::make_unique<ShardStore>(dataset, split),
                                                 shard_rows(split), rules, lanes);
    return std::make_unique<LaneStepLoader>(std::move(planner), options.num_workers);
}

}  // namespace lockstep::data
