// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace lockstep::launcher {

// Returns the time in the form "2026-03-01T12:00:00Z".
std::string utc(std::chrono::system_clock::time_point time);

}  // namespace lockstep::launcher
