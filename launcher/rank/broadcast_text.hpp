// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Returns the text of rank `root` on every rank. Collective.
std::string broadcast_text(comm::Communicator& communicator, std::string text, int root = 0);

}  // namespace lockstep::launcher
