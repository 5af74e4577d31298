// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/text/units.hpp"

// The limits of the control group of this process and of all groups above it, for control groups of
// version 1 and 2. `root` is put before /proc and /sys; empty means the real ones. What cannot be
// read, or is no number, is no limit.
namespace lockstep::launcher {

// A group with a quota of processor time. Kubernetes makes it of a container's CPU limit. Weights
// (cpu.weight, cpu.shares, which are its CPU requests) are none: they divide what is contended and
// leave idle cores to everybody.
struct CpuGroup {
    std::uint64_t id = 0;  // the same number for all processes of this host in or below the group
    double cores = 0;      // cores' worth of time, more than 0
};
std::vector<CpuGroup> cpu_groups(const std::string& root = "");

// A group with a limit of memory.
struct MemoryGroup {
    std::uint64_t id = 0;
    std::string folder;              // as users find it
    std::int64_t bytes = unlimited;  // beyond these a process is killed
    std::int64_t high = unlimited;   // beyond these it is slowed (memory.high)
    std::int64_t swap = unlimited;   // what may be swapped out besides
    std::int64_t used = 0;           // without files that are only kept for the next reader
};
std::vector<MemoryGroup> memory_groups(const std::string& root = "");

// Return the tightest of these limits.
std::int64_t control_group_bytes(const std::string& root);  // `unlimited`: no limit
// Returns what the groups leave of their limits.
std::int64_t control_group_free_bytes(const std::string& root);  // `unlimited`: no limit
double control_group_cores(const std::string& root);  // cores' worth of time; 0: no quota

}  // namespace lockstep::launcher
