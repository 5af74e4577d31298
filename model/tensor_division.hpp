// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.hpp"

namespace lockstep::model {

// Throws kind config, with the nearest number that works, if so many ranks cannot divide the
// layers of the model.
void require_divisible(const ModelConfig& config, int tensor);

// Returns the number nearest to `tensor` that divides the model and the ranks.
int nearest_tensor(const ModelConfig& config, int tensor, int ranks);

}  // namespace lockstep::model
