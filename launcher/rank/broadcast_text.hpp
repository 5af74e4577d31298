// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Returns rank 0's text on every rank. Collective.
std::string broadcast_text(comm::Communicator& communicator, std::string text);

}  // namespace lockstep::launcher
