// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_memory.hpp"

#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::device {

namespace {

Error no_room(std::size_t bytes) {
    int device = -1;
    cudaGetDevice(&device);
    cudaGetLastError();  // clears the error: the next check must not report it again
    return Error(ErrorKind::cuda,
                 "GPU " + std::to_string(device) + " has no room for " +
                     std::to_string(bytes >> 20) +
                     " MiB more: take a smaller batch (-bs, --batch-tokens) or model");
}

Error no_pinned_room(std::size_t bytes) {
    cudaGetLastError();
    return Error(
        ErrorKind::cuda,
        "the host cannot pin " + std::to_string(bytes >> 20) +
            " MiB more of its memory: end other programs, or leave --offload out if it is given");
}

}  // namespace

void* allocate_cuda(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    const cudaError_t result = cudaMalloc(&memory, bytes);
    if (result == cudaErrorMemoryAllocation) throw no_room(bytes);
    check(result, "cudaMalloc");
    // The streams of the contexts do not wait for the default stream, which this memset runs on.
    check(cudaMemset(memory, 0, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return memory;
}

// The explicit wait is needed: cudaFree and cudaFreeHost may wait for work that uses the memory,
// but do not have to.
void free_cuda(void* memory) noexcept {
    if (memory == nullptr) return;
    cudaDeviceSynchronize();
    cudaFree(memory);
}

void* allocate_pinned(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    const cudaError_t result = cudaMallocHost(&memory, bytes);
    if (result == cudaErrorMemoryAllocation) throw no_pinned_room(bytes);
    check(result, "cudaMallocHost");
    return std::memset(memory, 0, bytes);
}

void free_pinned(void* memory) noexcept {
    if (memory == nullptr) return;
    cudaDeviceSynchronize();
    cudaFreeHost(memory);
}

void copy_bytes(CudaContext& ctx, const void* from, void* to, std::size_t bytes) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, ctx.stream()), "cudaMemcpyAsync");
}

}  // namespace lockstep::device
