// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lockstep::device {

// Takes the host's part in the work of a device: its CpuContext runs the host's kernels, memory
// that MemoryOf gives to it is pinned, and it copies between that memory and the device's in both
// directions at once. A copy has one of these slots; a slot has one copy of each direction.
constexpr std::size_t host_slots = 2;

// Set ctx.cached<HostThreads>() before a HostSide is made.
struct HostThreads {
    int count = 1;
};

template <class Ctx>
class HostSide;

}  // namespace lockstep::device
