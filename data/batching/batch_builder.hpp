// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/batching/batch_rules.hpp"
#include "data/batching/lane_stream.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/batch/lane_range.hpp"

namespace lockstep::data {

// Builds a part of micro-batch number `batch` of a window, without references. Rows are truncated,
// laid out for the model, and filled up to the shape class. A part without rows is empty.
train::Batch build_batch(const Window& window, std::size_t batch, const BatchRules& rules,
                         train::LanePart part = {});

}  // namespace lockstep::data
