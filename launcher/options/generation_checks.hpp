// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Throws a config error if an option was given that changes no reply, because --inference is
// another one than it is for.
void check_generation(const RunConfig& config);

}  // namespace lockstep::launcher
