// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::launcher {

// Returns the disk space in bytes that one training run's checkpoints take at most: the `kept`
// newest checkpoints, one more that is being written, and the best weights. `weights` is
// a number of values. Checkpoints that --keep-every-n-steps keeps come on top.
std::uintmax_t bytes_of_checkpoints(std::uintmax_t weights, std::uintmax_t optimizer_bytes,
                                    int kept);

}  // namespace lockstep::launcher
