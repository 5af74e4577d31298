// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::tests::cuda_emulation {

// "source file/kernel", without suffix, namespaces and template arguments, from the symbols of the
// running program; "kernel" alone where other source files see it as well. A program without
// symbols has kernels of the name "unknown".
std::string kernel_name(const void* kernel);

}  // namespace lockstep::tests::cuda_emulation
