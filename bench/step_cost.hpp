// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::bench {

// Floating-point operations of forward and backward over one batch: 6 for each multiply-add of the
// linear layers and the vocabulary product on the tokens that pass through them, and
// 12 x length x keys x d for each layer's attention, causal attention counted in full.
double step_flop(const model::ModelConfig& config, const train::Batch& batch);

// What this machine's products reach at best on the context's threads: a large square one.
double product_ceiling(device::CpuContext& context, train::Precision precision);

}  // namespace lockstep::bench
