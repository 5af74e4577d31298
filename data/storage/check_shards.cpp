// SPDX-License-Identifier: Apache-2.0
#include "data/storage/check_shards.hpp"

#include "data/storage/shard_store.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {

void check_shards(const Dataset& dataset, const SplitInfo& split, MissingShards missing) {
    for (std::size_t i = 0; i < split.shards.size(); ++i) {
        const std::string path = dataset.shard_path(split.shards[i]);
        if (missing == MissingShards::allow && !path_exists(path)) continue;
        check_shard(dataset, split, i);
    }
}

void check_shard(const Dataset& dataset, const SplitInfo& split, std::size_t number) {
    const ShardReader opened(dataset.shard_path(split.shards[number]),
                             shard_identity(dataset, split, number));
}

}  // namespace lockstep::data
