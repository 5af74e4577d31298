// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.hpp"

namespace lockstep::model {

// Throws kind config if a GPU's attention does not take heads as wide as the model's.
void require_gpu_heads(const ModelConfig& config);

}  // namespace lockstep::model
