// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::tests::cuda_emulation {

// Returns "source file/kernel" from the symbols of the running program, without suffix, namespaces
// and template arguments. Returns only "kernel" if other source files see the function too, and
// "unknown" for a program without symbols.
std::string kernel_name(const void* kernel);

}  // namespace lockstep::tests::cuda_emulation
