// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::launcher {

constexpr int kept_checkpoints = 2;

// Of every checkpoint that stands at a time, one of them still being written, and the best weights;
// of a model with so many weights and so many values of its optimizer.
std::uintmax_t bytes_of_checkpoints(std::uintmax_t weights, std::uintmax_t optimizer_values);

}  // namespace lockstep::launcher
