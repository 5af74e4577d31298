// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Returns the bytes that the host has left for each of so many ranks on it.
std::int64_t free_host_bytes(int ranks_of_host);

// Throws a config error on every rank if some rank's host has fewer bytes left for it than
// --offload optimizer pins there. Collective.
void require_room_to_pin(std::int64_t pinned_bytes, std::int64_t free_bytes,
                         comm::Communicator& communicator);

}  // namespace lockstep::launcher
