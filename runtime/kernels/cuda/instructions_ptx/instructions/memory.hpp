// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lockstep::kernels::cuda {

// Loads 16 bytes from an address that is a multiple of 16.
__device__ __forceinline__ uint4 load16(const void* from) {
    return *static_cast<const uint4*>(from);
}
// Stores 16 bytes as one number: nvcc stores a uint4 in four parts if the address advances with a
// loop.
__device__ __forceinline__ void store16(void* to, uint4 words) {
    using Words = unsigned __int128;
    *static_cast<Words*>(to) =
        Words{words.w} << 96 | Words{words.z} << 64 | Words{words.y} << 32 | Words{words.x};
}
// These functions load and store 8 bytes at an address that is a multiple of 8.
__device__ __forceinline__ uint2 load8(const void* from) {
    return *static_cast<const uint2*>(from);
}
__device__ __forceinline__ void store8(void* to, uint2 words) {
    *static_cast<std::uint64_t*>(to) = std::uint64_t{words.y} << 32 | words.x;
}
// Stores 4 bytes at an address that is a multiple of 4.
__device__ __forceinline__ void store4(void* to, std::uint32_t word) {
    *static_cast<std::uint32_t*>(to) = word;
}

// Returns the block's object of type T. A kernel has one for each T; its content is undefined at
// the block's start.
template <class T>
__device__ __forceinline__ T& shared_memory() {
    __shared__ T memory;
    return memory;
}

// Returns the shared memory whose size the launch gave. It is 128-byte aligned.
template <class T>
__device__ __forceinline__ T* dynamic_shared_memory() {
    extern __shared__ __align__(128) unsigned char dynamic_memory[];
    return reinterpret_cast<T*>(dynamic_memory);
}

// Copies 16 bytes from device to shared memory while the thread goes on; both addresses are
// multiples of 16. This thread sees the bytes after wait_copies; other threads also need a barrier.
__device__ __forceinline__ void copy16_async(void* shared, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
                 "l"(from)
                 : "memory");
}
// Writes 16 zero bytes instead when `inside` is false; `from` is not read then.
__device__ __forceinline__ void copy16_async_if(bool inside, void* shared, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
                 "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}
// Ends a group of the copies that began since the last group.
__device__ __forceinline__ void end_copy_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most the `pending` newest groups are in flight.
template <int pending>
__device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace lockstep::kernels::cuda
