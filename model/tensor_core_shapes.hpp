// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/config.hpp"

namespace lockstep::model {

// A width at which tensor cores are slow in 16 bits, in the options' words.
struct SlowShape {
    std::string what;    // "--embedding-size 300 is no multiple of 8"
    std::string better;  // "304, or 320 for whole tiles of 64"
};

// Rows have to begin at whole 16 bytes, and attention has fast kernels for heads of 8 to 128
// columns in steps of 8. Any vocabulary will do: rows of logits are padded.
std::vector<SlowShape> slow_shapes(const ModelConfig& config);

}  // namespace lockstep::model
