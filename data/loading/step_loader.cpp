// SPDX-License-Identifier: Apache-2.0
#include "data/loading/step_loader.hpp"

#include <utility>

#include "data/batching/joined_stores.hpp"
#include "data/storage/shard_store.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

void check(const StepLoaderOptions& options) {
    require(options.world > 0 && options.rank >= 0 && options.rank < options.world,
            "a rank of the world");
    if (options.num_workers < 0)
        throw Error(ErrorKind::config, "--num-workers " + std::to_string(options.num_workers) +
                                           ": must not be negative");
}

DealtEpoch dealt(const EarlierDealings& earlier, const Dataset& dataset) {
    DealtEpoch epoch{earlier.epoch, {}};
    for (const EarlierDealings::Part& part : earlier.parts)
        epoch.parts.push_back(
            {{BatchRules(part.dealing.batching, dataset.kind(), dataset.special()),
              part.dealing.window_batches},
             part.end_step});
    return epoch;
}

}  // namespace

StepLoader::StepLoader(std::unique_ptr<StepPlanner> planner, int num_workers)
    : planner_(std::move(planner)), num_workers_(num_workers) {
    usage_.sets.resize(planner_->mixture().sets().size());
}

BuiltStep StepLoader::prepared_step() {
    if (num_workers_ == 0) return planner_->build(planner_->next());
    if (!pipeline_) pipeline_.emplace(*planner_, num_workers_);
    return pipeline_->next();
}

train::StepBatches StepLoader::next() {
    // After the end of this rank's lanes, the prepared steps belong to the next epoch.
    BuiltStep built = finished_ ? planner_->empty_step(position_) : prepared_step();
    const train::StepBatches& step = built.batches;
    require(step.position.epoch == position_.epoch &&
                step.position.step_in_epoch == position_.step_in_epoch,
            "prepared steps are those asked for");
    finished_ = built.finished;
    ++position_.step_in_epoch;
    usage_ += built.usage;
    return std::move(built.batches);
}

void StepLoader::next_epoch() {
    const train::Position begin{position_.epoch + 1, 0};
    if (!finished_) return seek(begin);
    position_ = begin;
    usage_ = planner_->mixture().carried(usage_, begin.epoch);
    finished_ = false;
}

void StepLoader::seek(train::Position position) {
    pipeline_.reset();
    usage_ = planner_->seek(position);
    position_ = position;
    finished_ = false;
}

std::unique_ptr<StepLoader> open_step_source(std::span<const Dataset> datasets,
                                             const StepLoaderOptions& options) {
    check(options);
    std::vector<SplitInfo> splits;
    std::vector<JoinedStores::Part> stores;
    for (const Dataset& dataset : datasets) {
        const SplitInfo& split = splits.emplace_back(dataset.split(options.split));
        if (split.rows == 0)
            throw Error(ErrorKind::data,
                        dataset.directory() + ": split '" + shown(options.split) +
                            "' has no rows; run 'lockstep prepare' with more text");
        stores.push_back({std::make_unique<ShardStore>(dataset, split),
                          static_cast<std::int32_t>(split.shards.size()),
                          static_cast<std::uint32_t>(split.rows)});
    }
    const BatchRules rules(options.batching, datasets.front().kind(), datasets.front().special());
    WindowedMixture chosen = choose_mixture(splits, options.weights, rules, options.lanes,
                                            options.window_batches, options.block_rows);
    const RankLanes lanes{options.seed,  options.lanes,         options.rank,
                          options.world, chosen.window_batches, options.sharing};
    auto planner =
        std::make_unique<StepPlanner>(joined(std::move(stores)), std::move(chosen.mixture), rules,
                                      lanes, dealt(options.earlier, datasets.front()));
    return std::make_unique<StepLoader>(std::move(planner), options.num_workers);
}

}  // namespace lockstep::data
