// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Resolves the host's name to addresses, and `address` (where the host is reached; may be empty)
// back to names.
Lookup look_up(const std::string& host, const std::string& address, int timeout_ms);

}  // namespace lockstep::launcher::doctor
