// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "runtime/core/error.hpp"

// This is the emulated counterpart of
// runtime/kernels/cuda/instructions_ptx/instructions/memory.hpp. An address that is not a multiple
// of the access size throws, since it would end the program on a GPU.
namespace lockstep::kernels::cuda {

namespace emulation = tests::cuda_emulation;

inline void require_aligned(const void* address) {
    require(reinterpret_cast<std::uintptr_t>(address) % 16 == 0,
            "a 16-byte access at an address that is no multiple of 16");
}

inline uint4 load16(const void* from) {
    require_aligned(from);
    uint4 words;
    std::memcpy(&words, from, 16);
    return words;
}
inline void store16(void* to, uint4 words) {
    require_aligned(to);
    std::memcpy(to, &words, 16);
}
inline void require_aligned8(const void* address) {
    require(reinterpret_cast<std::uintptr_t>(address) % 8 == 0,
            "an 8-byte access at an address that is no multiple of 8");
}
inline uint2 load8(const void* from) {
    require_aligned8(from);
    uint2 words;
    std::memcpy(&words, from, 8);
    return words;
}
inline void store8(void* to, uint2 words) {
    require_aligned8(to);
    std::memcpy(to, &words, 8);
}
inline void store4(void* to, std::uint32_t word) {
    require(reinterpret_cast<std::uintptr_t>(to) % 4 == 0,
            "a 4-byte access at an address that is no multiple of 4");
    std::memcpy(to, &word, 4);
}

template <class T>
T& shared_memory() {
    static thread_local T memory;
    static thread_local std::uint64_t block = 0;
    if (block != emulation::block_number()) {
        emulation::claim_static_memory(sizeof memory);
        std::memset(static_cast<void*>(&memory), 0xFF, sizeof memory);
    }
    block = emulation::block_number();
    return memory;
}

template <class T>
T* dynamic_shared_memory() {
    return static_cast<T*>(emulation::dynamic_memory());
}

inline void copy16_async(void* shared, const void* from) {
    require_aligned(shared);
    require_aligned(from);
    emulation::begin_copy(shared, from, 16);
}
inline void copy16_async_if(bool inside, void* shared, const void* from) {
    require_aligned(shared);
    emulation::begin_copy(shared, inside ? from : nullptr, 16);
}
inline void end_copy_group() { emulation::end_copy_group(); }
template <int pending>
void wait_copies() {
    emulation::wait_copies(pending);
}

}  // namespace lockstep::kernels::cuda
