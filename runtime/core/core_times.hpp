// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace lockstep {

// Tells of the cores that this thread may run on: how many there are, how long they have been idle,
// and how much processor time the process has had, of all its threads.
struct CoreTimes {
    int cores = 0;
    double idle_s = 0, own_s = 0;
};

// Reads the times so far. The result is empty if the kernel does not tell. `root` is put before
// /proc.
std::optional<CoreTimes> core_times(const std::string& root = "");

// Returns how many of the cores other processes took between two readings.
double cores_of_others(const CoreTimes& before, const CoreTimes& now, double passed_s) noexcept;

}  // namespace lockstep
