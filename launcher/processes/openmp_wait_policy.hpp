// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::launcher {

// libgomp's threads spin while they wait. The default limit is so long that a busy host stalls.
// libgomp reads the limit from the environment when it is loaded. These functions do nothing when
// the environment already sets a wait policy.

// Sets the limit for a program that is about to be started.
void set_openmp_wait_policy(comm::Environment& environment);

// Sets the limit for this program and executes it again. Call it first in main, with its argv.
void set_openmp_wait_policy(char** argv);

}  // namespace lockstep::launcher
