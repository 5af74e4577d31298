// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/batching/batch_rules.hpp"
#include "data/batching/window.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::data {

// Micro-batch number `batch` of a window, without references: truncated, laid out for the model,
// and filled up to its shape class.
train::Batch build_batch(const Window& window, std::size_t batch, const BatchRules& rules);

}  // namespace lockstep::data
