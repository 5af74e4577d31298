// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Cores that the scheduler lets this process use.
int usable_cores();

// This rank's threads: its part of the cores that it shares with other ranks of its host. Ranks
// that a launcher bound to cores of their own share with nobody. Collective.
int share_of_cores(comm::Communicator& communicator);

}  // namespace lockstep::launcher
