// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::kernels {

// Says whether a result overwrites the values that its memory holds (which may be anything, even
// NaN) or is added to them.
enum class Into : std::uint8_t { overwrite, add };

}  // namespace lockstep::kernels
