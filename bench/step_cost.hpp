// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::bench {

// Returns the floating-point operations of forward and backward over one batch: 6 for each
// multiply-add of the linear layers and the vocabulary product on the tokens that pass through
// them, and 12 x length x keys x d for each layer's attention. Causal attention is counted in full.
double step_flop(const model::ModelConfig& config, const train::Batch& batch);

// Returns the operations per second of a large square matrix product on the context's threads, by
// oneDNN or by our own code, whichever is faster: this machine's practical maximum.
double product_ceiling(device::CpuContext& context, train::Precision precision);

}  // namespace lockstep::bench
