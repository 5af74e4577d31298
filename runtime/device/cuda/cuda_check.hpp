// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/core/error.hpp"

namespace lockstep::device {

// Throws an error of kind cuda if `result` is a failure. The error names the call, the GPU and the
// source line.
void check(cudaError_t result, const char* call, SourceLocation where = SourceLocation::current());

}  // namespace lockstep::device
