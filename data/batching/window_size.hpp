// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/batching/batch_rules.hpp"
#include "data/storage/dataset_info.hpp"

namespace lockstep::data {

// How much a lane sorts and shuffles at a time, and in which pieces rows are dealt to lanes.
struct WindowSize {
    std::int64_t batches = 1;
    std::int64_t block_rows = 1;
    std::int64_t rows = 1;  // of a window, about
};

// `batches` > 0 is taken as it is. A pure function, so ranks agree without talking.
WindowSize choose_window(const SplitInfo& split, const BatchRules& rules, std::int64_t lanes,
                         std::int64_t batches);

}  // namespace lockstep::data
