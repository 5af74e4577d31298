// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Assumed where nobody has measured: one stream into a file server that others use as well.
constexpr double assumed_write_bytes_per_s = 100e6;

// Returns a warning if the ranks may need more time to save `bytes` than the `warning_s` seconds
// that they are told beforehand, with the signal to give instead. It is empty otherwise.
std::string warning_of_slow_stop(double bytes, int warning_s);

// Returns the bytes that a training run writes when it is stopped: a checkpoint, and the weights if
// there are no best ones yet. 0: not known, because the data or the model cannot be read here.
double bytes_saved_at_stop(const RunConfig& config);

}  // namespace lockstep::launcher
