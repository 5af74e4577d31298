// SPDX-License-Identifier: Apache-2.0
#include "data/loading/eval_loader.hpp"

#include "data/loading/lane_eval_loader.hpp"
#include "data/storage/shard_store.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {

bool holds_references(const Dataset& dataset, std::string_view split) {
    return dataset.kind() == DatasetKind::dialogue && split != format::train_split;
}

std::unique_ptr<train::EvalSource> open_eval_source(const Dataset& dataset,
                                                    const EvalLoaderOptions& options) {
    require(options.world > 0 && options.rank >= 0 && options.rank < options.world,
            "a rank of the world");
    const SplitInfo& split = dataset.split(options.split);
    const BatchRules rules(options.batching, dataset.kind());
    return std::make_unique<LaneEvalLoader>(std::make_unique<ShardStore>(dataset, split),
                                            limit_rows(shard_rows(split), options.max_examples),
                                            rules, choose_window(split, rules, options.world, 0),
                                            Lane{options.rank, options.world}, options.references);
}

}  // namespace lockstep::data
