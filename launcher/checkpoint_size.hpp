// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/train/options.hpp"

namespace lockstep::launcher {

constexpr int kept_checkpoints = 2;

// Of every checkpoint that stands at a time, one of them still being written, and the best weights;
// of a model with so many weights and so many values of its optimizer.
std::uintmax_t bytes_of_checkpoints(std::uintmax_t weights, std::uintmax_t optimizer_values);

// The values that an optimizer keeps at least, before it is made.
std::uintmax_t optimizer_values(const train::OptimizerOptions& options, std::uintmax_t weights);

}  // namespace lockstep::launcher
