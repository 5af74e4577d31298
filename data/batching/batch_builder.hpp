// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/batching/batch_rules.hpp"
#include "data/batching/lane_stream.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::data {

// Builds micro-batch number `batch` of a window, without references. Rows are truncated, laid out
// for the model, and filled up to the shape class.
train::Batch build_batch(const Window& window, std::size_t batch, const BatchRules& rules);

}  // namespace lockstep::data
