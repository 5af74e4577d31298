// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lockstep::fuzz {

// Counts how often this process passed each block of the instrumented code, up to 255. Blocks that
// share a number are counted together. All numbers stay 0 if nothing is instrumented (LOCKSTEP_FUZZ
// of tests/fuzz/CMakeLists.txt).
std::span<std::uint8_t> block_counts() noexcept;

}  // namespace lockstep::fuzz
