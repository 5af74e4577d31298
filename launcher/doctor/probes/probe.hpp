// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Another host answers at this address, and expects the token first.
struct ProbeTarget {
    std::string host, address;
    int port = 0;
    std::string token;
};

// Measures whether the target can be reached, its round-trip time and the difference of its clock.
Probe probe(const ProbeTarget& target, int timeout_ms);

// Returns the bytes per second of a plain TCP stream to the target; 0 when there is none.
double stream_rate(const ProbeTarget& target, int timeout_ms);

// Returns the bytes per second of a copy in this host's memory.
double copy_rate();

// Returns an empty string when something listens there, otherwise the reason for people to read.
std::string unreachable(const std::string& address, int port, int timeout_ms);

}  // namespace lockstep::launcher::doctor
