// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::launcher {

constexpr int kept_checkpoints = 2;

// Returns the disk space in bytes that one training run's checkpoints take at most: the kept
// checkpoints, one more that is being written, and the best weights. `weights` and
// `optimizer_values` are numbers of values.
std::uintmax_t bytes_of_checkpoints(std::uintmax_t weights, std::uintmax_t optimizer_values);

}  // namespace lockstep::launcher
