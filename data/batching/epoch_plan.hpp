// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "data/batching/lane_planner.hpp"
#include "data/batching/mixture.hpp"
#include "data/storage/dataset.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::data {

// The micro-batches of a run's first epoch, as far as they were planned.
struct EpochPlan {
    std::map<train::BatchShape, std::int64_t> shapes;  // and how many micro-batches have each
    std::int64_t rows = 0, truncated_rows = 0;
    std::int64_t tokens = 0, filler = 0;    // of both sides
    std::int64_t largest_window_bytes = 0;  // tokens and places of the rows that a lane sorts
    std::int64_t steps = 0;                 // of the whole epoch; about, where `rows` are not all
};

struct EpochOptions {
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    std::vector<double> weights;                    // of several data sets
    std::int64_t max_rows = std::int64_t{1} << 22;  // that are planned
};

// Plans as a run with these options does, by the rows' lengths alone.
EpochPlan plan_epoch(RowStore& store, std::span<const SplitInfo> splits, const BatchRules& rules,
                     const EpochOptions& options);
// The same of the data sets' training rows, by their indices.
EpochPlan plan_epoch(std::span<const Dataset> datasets, const BatchRules& rules,
                     const EpochOptions& options);

}  // namespace lockstep::data
