// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lockstep::kernels::cuda {

// cuBLASLt may use this much memory in addition to the matrices. NVIDIA recommends it for Hopper,
// and it is enough for all others.
constexpr std::size_t product_workspace_bytes = std::size_t{32} << 20;

}  // namespace lockstep::kernels::cuda
