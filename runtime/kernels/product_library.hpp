// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::kernels {

// Returns the name of the matrix product library, its version and the instruction set that it chose
// on this host, for example "oneDNN 2.6.3 avx512_core_bf16". Equal texts compute equal bits.
std::string product_library();

// Returns whether this host multiplies bf16 faster than fp32.
bool multiplies_bf16() noexcept;

}  // namespace lockstep::kernels
