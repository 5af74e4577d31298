// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/config.hpp"

namespace lockstep::model {

// Describes, for the user, a width at which tensor cores are slow in 16 bits.
struct SlowShape {
    std::string what;    // such as "--embedding-size 300 is no multiple of 8"
    std::string better;  // such as "304, or 320 for whole tiles of 64"
};

// Returns the slow shapes of a config. Rows must begin at multiples of 16 bytes, and attention has
// fast kernels for heads of 8 to 128 columns in steps of 8. Every vocabulary size is fine because
// rows of logits are padded.
std::vector<SlowShape> slow_shapes(const ModelConfig& config);

}  // namespace lockstep::model
