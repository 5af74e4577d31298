// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// These functions print the parts of the report that tell of links between GPUs, hosts and ranks.
std::string gpu_lines(const Facts& facts);
std::string network_lines(const Facts& facts);
std::string rate_lines(const Facts& facts);

}  // namespace lockstep::launcher::doctor
