// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/peak_memory.hpp"

#include <sys/resource.h>

namespace lockstep {

std::uint64_t peak_memory_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace lockstep
