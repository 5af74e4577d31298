// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep {

// Returns the largest resident memory of this process so far.
std::uint64_t peak_memory_bytes();

}  // namespace lockstep
