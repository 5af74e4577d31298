// SPDX-License-Identifier: Apache-2.0
#include "model/devices/gpu_heads.hpp"

#include <string>

#include "model/parts.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::model {

namespace {

// This is the kernels' limit (runtime/kernels/attention.hpp).
constexpr std::int64_t widest_head = 256;

}  // namespace

void require_gpu_heads(const ModelConfig& config) {
    const std::int64_t columns = widths(config).head_dim;
    if (columns <= widest_head) return;
    throw Error(ErrorKind::config,
                "this model has heads of " + std::to_string(columns) +
                    " columns, and attention on GPUs takes " + std::to_string(widest_head) +
                    " at most: give a new model more --n-heads, or give --device cpu");
}

}  // namespace lockstep::model
