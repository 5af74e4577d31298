// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_check.hpp"

#include <string>

namespace lockstep::device {

void check(cudaError_t result, const char* call, SourceLocation where) {
    if (result == cudaSuccess) return;
    int device = -1;
    const bool known = cudaGetDevice(&device) == cudaSuccess;
    cudaGetLastError();  // clears the error: the next check must not report it again
    throw Error(ErrorKind::cuda,
                std::string(where.file) + ":" + std::to_string(where.line) + ": " + call +
                    " failed on GPU " + (known ? std::to_string(device) : "?") + ": " +
                    cudaGetErrorString(result) + " (" + cudaGetErrorName(result) + ")",
                where);
}

}  // namespace lockstep::device
