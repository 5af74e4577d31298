// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "data/storage/dataset.hpp"

namespace lockstep::data {

enum class MissingShards { refuse, allow };  // allow: another host may have them

// Opens every shard of the split once. A bad shard thus gives the same error as reading it would,
// but before anything has started.
void check_shards(const Dataset& dataset, const SplitInfo& split, MissingShards missing);

// Checks one shard, which must exist.
void check_shard(const Dataset& dataset, const SplitInfo& split, std::size_t number);

}  // namespace lockstep::data
