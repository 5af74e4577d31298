// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Returns the bytes of gradients and weights that a rank sends in a step if every collective goes
// around a ring: an all-reduce among n ranks sends 2 (n - 1) / n of its bytes, a reduce-scatter or
// an all-gather half of that. The table says how many ranks share a replica. The rows of a tied
// table that is summed in parts, and sums of a few numbers, are not counted.
std::int64_t bytes_sent_in_step(const ParameterTable& table, Precision precision,
                                const ReducerOptions& options, int ranks, std::int64_t passes = 1);

}  // namespace lockstep::train
