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

namespace lockstep::launcher::plan {

// Describes the micro-batches of an epoch of a run, as far as they are planned.
struct EpochPlan {
    std::map<train::BatchShape, std::int64_t> shapes;  // number of micro-batches of each shape
    std::int64_t rows = 0, truncated_rows = 0;
    std::int64_t tokens = 0, filler = 0;    // sum of both sides
    std::int64_t largest_window_bytes = 0;  // tokens and extents of the rows that a lane sorts
    std::int64_t all_rows = 0;              // of the epoch, planned or not
    std::int64_t steps = 0;                 // whole epoch; estimated if `rows` are not all
    std::vector<std::int64_t> step_rows;    // of the planned steps, over all lanes
};

struct EpochOptions {
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    std::vector<double> weights;                    // only with several data sets
    std::int64_t max_rows = std::int64_t{1} << 22;  // maximum number of rows to plan
    std::int64_t epoch = 0;
};

// Plans as a run with these options does, from the lengths of the rows only.
EpochPlan plan_epoch(data::RowStore& store, std::span<const data::SplitInfo> splits,
                     const data::BatchRules& rules, const EpochOptions& options);
// Plans the micro-batches of one lane, until they have `max_rows` rows.
EpochPlan plan_lane(data::LanePlanner lane, const data::BatchRules& rules, std::int64_t max_rows);
// Plans the training rows of the data sets in the same way. Reads only the data sets' indices.
EpochPlan plan_epoch(std::span<const data::Dataset> datasets, const data::BatchRules& rules,
                     const EpochOptions& options);

// Returns the shape that a rank meets for certain, it or one with more tokens, when it gets
// `batches` of these micro-batches, whichever they are. It is empty if `batches` is 0.
train::BatchShape met_for_certain(const EpochPlan& plan, std::int64_t batches);

}  // namespace lockstep::launcher::plan
