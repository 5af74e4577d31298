// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/host/host_facts.hpp"

namespace lockstep::launcher {

// These functions read what this host reports about itself. `root` is put before /proc and /sys;
// empty means the real ones.
Processor processor(const std::string& root = "");
Memory memory(const std::string& root = "");
std::vector<Interface> interfaces(const std::string& root = "");
std::int64_t infiniband_devices(const std::string& root = "");
Limits limits();

}  // namespace lockstep::launcher
