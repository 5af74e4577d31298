// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tests/support/cuda_emulation/block.hpp"

// A device refuses launches beyond these limits. CUDA's programming guide lists them for all
// current GPUs.
namespace lockstep::tests::cuda_emulation {

// Works as cudaFuncSetAttribute(..., cudaFuncAttributeMaxDynamicSharedMemorySize, bytes).
cudaError_t allow_dynamic_memory(const void* kernel, int bytes);

// Returns success and sets `shared` to the shared memory of the launch's blocks, or returns the
// error.
cudaError_t check_launch(const void* kernel, dim3 grid, dim3 block, std::size_t dynamic_bytes,
                         SharedBytes& shared);

}  // namespace lockstep::tests::cuda_emulation
