// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::kernels {

// The library of the matrix products, its version and the instructions that it chose on this
// machine: "oneDNN 2.6.3 avx512_core_bf16". Equal texts compute equal bits.
std::string product_library();

// Whether this machine multiplies bf16 faster than fp32.
bool multiplies_bf16() noexcept;

}  // namespace lockstep::kernels
