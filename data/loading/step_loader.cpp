// SPDX-License-Identifier: Apache-2.0
#include "data/loading/step_loader.hpp"

#include "data/batching/joined_stores.hpp"
#include "data/loading/lane_step_loader.hpp"
#include "data/storage/shard_store.hpp"
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

std::unique_ptr<StepLoader> open_step_source(std::span<const Dataset> datasets,
                                             const StepLoaderOptions& options) {
    check(options);
    std::vector<SplitInfo> splits;
    std::vector<JoinedStores::Part> stores;
    for (const Dataset& dataset : datasets) {
        const SplitInfo& split = splits.emplace_back(dataset.split(options.split));
        if (split.rows == 0)
            throw Error(ErrorKind::data,
                        dataset.directory() + ": split '" + options.split +
                            "' has no rows; run 'lockstep prepare' with more text");
        stores.push_back({std::make_unique<ShardStore>(dataset, split),
                          static_cast<std::int32_t>(split.shards.size()),
                          static_cast<std::uint32_t>(split.rows)});
    }
    const BatchRules rules(options.batching, datasets.front().kind());
    WindowedMixture chosen =
        choose_mixture(splits, options.weights, rules, options.lanes, options.window_batches);
    const RankLanes lanes{options.seed, options.lanes, options.rank, options.world,
                          chosen.window_batches};
    auto planner = std::make_unique<StepPlanner>(joined(std::move(stores)),
                                                 std::move(chosen.mixture), rules, lanes);
    return std::make_unique<LaneStepLoader>(std::move(planner), options.num_workers);
}

}  // namespace lockstep::data
