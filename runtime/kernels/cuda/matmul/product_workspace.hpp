// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lockstep::kernels::cuda {

// What cuBLASLt may use beside the matrices: its own advice for Hopper, enough for all others.
constexpr std::size_t product_workspace_bytes = std::size_t{32} << 20;

}  // namespace lockstep::kernels::cuda
