// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "data/batching/batch_rules.hpp"
#include "data/storage/dataset.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::data {

// How many rows a model sees of each size: {source, label} as BatchRules::fit() leaves them.
using RowLengths = std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>;

// Of all rows of the shards, read in pieces.
RowLengths row_lengths(RowStore& store, std::span<const std::int64_t> shard_rows,
                       const BatchRules& rules);
// Of a split, by the data set's index alone.
RowLengths row_lengths(const Dataset& dataset, const SplitInfo& split, const BatchRules& rules);
// Of endless rows as long as the rules let through, where there is no data yet.
RowLengths full_rows(const BatchRules& rules);

// Shapes of micro-batches that these rules can cut of such rows, in whatever order they come: what
// takes the most memory is among them, for any weight of a source's tokens against a label's.
std::vector<train::BatchShape> largest_batches(const RowLengths& lengths, const BatchRules& rules);

}  // namespace lockstep::data
