// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::kernels {

// What becomes of the values that a result's memory holds: they are overwritten, whatever they are,
// NaN as well, or the result is added to them.
enum class Into : std::uint8_t { overwrite, add };

}  // namespace lockstep::kernels
