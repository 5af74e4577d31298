// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// A range of the flat gradient buffer that is reduced at once.
struct Bucket {
    std::size_t first = 0, count = 0;
};

// Cuts the flat buffer into buckets, front to back without gaps: the first one small, so that
// reducing starts early, then of full size. The last block is a bucket of its own where there are
// several: a tied table in it becomes final only at the very end, and nothing shall wait for it.
// A pure function of the table and the options, so ranks cannot disagree.
std::vector<Bucket> plan_buckets(const ParameterTable& table, const ReducerOptions& options);

}  // namespace lockstep::train
