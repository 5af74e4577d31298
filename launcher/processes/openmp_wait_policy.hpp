// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/net/environment.hpp"

namespace lockstep::launcher {

// libgomp's threads spin while they wait, by default for so long that a busy machine stands still;
// it reads its limit from the environment when it is loaded. Where the environment already says how
// to wait, neither of these does anything.

// For a program that is about to be started.
void set_openmp_wait_policy(comm::Environment& environment);

// For this one, which starts once more with a limit. Call it first in main, with its argv.
void set_openmp_wait_policy(char** argv);

}  // namespace lockstep::launcher
