// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/batching/batch_rules.hpp"
#include "data/storage/dataset_info.hpp"

namespace lockstep::data {

// Gives the number of rows that a lane sorts and shuffles at a time, and the size of the blocks
// that are dealt to lanes.
struct WindowSize {
    std::int64_t batches = 1;
    std::int64_t block_rows = 1;
    std::int64_t rows = 1;  // estimated rows of a window
};

// Uses `batches` as it is if it is positive. It is a pure function, so ranks agree without
// communication.
WindowSize choose_window(const SplitInfo& split, const BatchRules& rules, std::int64_t lanes,
                         std::int64_t batches);

}  // namespace lockstep::data
