// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "data/storage/dataset.hpp"

namespace lockstep::data {

enum class MissingShards { refuse, allow };  // allow: another host may hold them

// Opens every shard of the split once: whatever is wrong with one is the error that reading it
// would give, but before anything has started.
void check_shards(const Dataset& dataset, const SplitInfo& split, MissingShards missing);

// The same for one shard, that must be there.
void check_shard(const Dataset& dataset, const SplitInfo& split, std::size_t number);

}  // namespace lockstep::data
