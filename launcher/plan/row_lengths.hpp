// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "data/batching/batch_rules.hpp"
#include "data/storage/dataset.hpp"
#include "launcher/rank/data_sets.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::launcher::plan {

// Maps each size to its number of rows: {source, label} as BatchRules::fit() leaves them.
using RowLengths = std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>;

// Counts all rows of the shards, which it reads in pieces.
RowLengths row_lengths(data::RowStore& store, std::span<const std::int64_t> shard_rows,
                       const data::BatchRules& rules);
// Counts the rows of a split. Reads only the data set's index.
RowLengths row_lengths(const data::Dataset& dataset, const data::SplitInfo& split,
                       const data::BatchRules& rules);
// Counts the rows of the split in all data sets, which must have it.
RowLengths row_lengths(const DataSets& sets, const char* split, const data::BatchRules& rules);
// Returns an unlimited number of rows of the maximum size that the rules allow, for runs without
// data yet.
RowLengths full_rows(const data::BatchRules& rules);

// Returns shapes of micro-batches that these rules can cut from such rows in any order. The shape
// that takes the most memory is among them, for any ratio of a source token's memory to a label
// token's.
std::vector<train::BatchShape> largest_batches(const RowLengths& lengths,
                                               const data::BatchRules& rules);

}  // namespace lockstep::launcher::plan
