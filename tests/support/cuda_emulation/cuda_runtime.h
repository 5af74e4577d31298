// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "tests/support/cuda_emulation/block.hpp"
#include "tests/support/cuda_emulation/launch_limits.hpp"
#include "tests/support/cuda_emulation/vector_types.hpp"

// Defines the keywords of CUDA C++ for a compiler of plain C++. There is no __shared__: shared
// memory comes from instructions/memory.hpp, which fills it with NaN at the start of each block.
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
inline cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
    emulated_call(__func__);
    return lockstep::tests::cuda_emulation::allow_dynamic_memory(kernel, value);
}

// Returns false for a pointer to pageable host memory, which no GPU need reach. Pointers within
// structs are not looked at.
template <class Argument>
bool emulated_reaches_argument([[maybe_unused]] const Argument& argument) {
    if constexpr (std::is_pointer_v<Argument>)
        return emulated_reaches(argument);
    else
        return true;
}

// A GPU would find an illegal address only when the kernel runs.
template <class... Parameters>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               std::type_identity_t<Parameters>... arguments) {
    namespace emulation = lockstep::tests::cuda_emulation;
    emulated_call(__func__);
    if (!(emulated_reaches_argument<Parameters>(arguments) && ...)) return cudaErrorIllegalAddress;
    const auto* const function = reinterpret_cast<const void*>(kernel);
    emulation::SharedBytes shared;
    const cudaError_t error = emulation::check_launch(function, config->gridDim, config->blockDim,
                                                      config->dynamicSmemBytes, shared);
    if (error != cudaSuccess) return error;
    const EmulatedPiece piece{.kernel = function};
    return emulated_submit(config->stream, piece, [launch = *config, shared, kernel, arguments...] {
        emulation::run_grid(launch.gridDim, launch.blockDim, shared, [&] { kernel(arguments...); });
    });
}

inline void __syncthreads() { lockstep::tests::cuda_emulation::wait_for_block(); }
inline void __threadfence() {}
inline void __threadfence_block() {}

#include "tests/support/cuda_emulation/arithmetic.hpp"
#include "tests/support/cuda_emulation/atomics.hpp"
#include "tests/support/cuda_emulation/warp.hpp"
