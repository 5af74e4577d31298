// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/comm/net/socket.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::launcher::doctor {

// These functions transfer all bytes over a non-blocking socket before the deadline and return
// false when that fails.
bool send_all(const FileDescriptor& socket, const void* data, std::size_t bytes,
              Clock::time_point deadline);
bool receive_all(const FileDescriptor& socket, void* data, std::size_t bytes,
                 Clock::time_point deadline);

int milliseconds_to(Clock::time_point deadline);

}  // namespace lockstep::launcher::doctor
