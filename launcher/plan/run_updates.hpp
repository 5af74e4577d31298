// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/data_sets.hpp"
#include "model/config.hpp"
#include "runtime/batch/step_source.hpp"

namespace lockstep::launcher::plan {

// Describes a run whose updates are counted. Everything is borrowed.
struct CountedRun {
    const RunConfig& config;
    const model::ModelConfig& model;
    const DataSets& data;
    const std::vector<double>& weights;  // of `data`
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
};

// Both count from the lengths of the rows only, as if the run had these options and data from its
// beginning. Each epoch is planned, until 4 million rows are; the epochs after those count as the
// first one.

// Returns how many updates --num-epochs, which must be given, makes.
std::int64_t updates_of_epochs(const CountedRun& run);
// Returns how many updates use no more rows than those before `position`.
std::int64_t updates_before(const CountedRun& run, const train::Position& position);

}  // namespace lockstep::launcher::plan
