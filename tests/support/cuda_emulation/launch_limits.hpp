// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tests/support/cuda_emulation/block.hpp"

// A device refuses launches beyond these limits, which CUDA's programming guide lists for every GPU
// of today.
namespace lockstep::tests::cuda_emulation {

// cudaFuncSetAttribute(..., cudaFuncAttributeMaxDynamicSharedMemorySize, bytes).
cudaError_t allow_dynamic_memory(const void* kernel, int bytes);

// Success, and what the launch's blocks have of shared memory; or why it fails.
cudaError_t check_launch(const void* kernel, dim3 grid, dim3 block, std::size_t dynamic_bytes,
                         SharedBytes& shared);

}  // namespace lockstep::tests::cuda_emulation
