// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"

// These functions convert between float and the storage types, rounded to nearest even as on the
// host.
namespace lockstep::kernels::cuda {

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(bf16 x) {
    return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16);
}
__device__ __forceinline__ float widen(fp16 x) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
    return value;
}

// Packs two values into one word, the first in its lower half.
__device__ __forceinline__ std::uint32_t narrow_pair(float low, float high, bf16) {
    std::uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
__device__ __forceinline__ std::uint32_t narrow_pair(float low, float high, fp16) {
    std::uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

template <class T>
__device__ __forceinline__ T narrow(float x) {
    if constexpr (sizeof(T) == 4) {
        return x;
    } else {
        T value;
        value.bits = static_cast<std::uint16_t>(narrow_pair(x, 0.0f, T{}));
        return value;
    }
}

// Unpacks the two values of a word of T.
__device__ __forceinline__ void widen_pair(std::uint32_t word, float* values, bf16) {
    values[0] = __uint_as_float(word << 16);
    values[1] = __uint_as_float(word & 0xFFFF0000u);
}
__device__ __forceinline__ void widen_pair(std::uint32_t word, float* values, fp16) {
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
        : "=f"(values[0]), "=f"(values[1])
        : "r"(word));
}

// These functions unpack a 16-byte vector of T to its values, and pack the values into such a
// vector.
template <class T>
__device__ __forceinline__ void widen_words(uint4 words, float* values, T type) {
    widen_pair(words.x, values, type);
    widen_pair(words.y, values + 2, type);
    widen_pair(words.z, values + 4, type);
    widen_pair(words.w, values + 6, type);
}
__device__ __forceinline__ void widen_words(uint4 words, float* values, float) {
    values[0] = __uint_as_float(words.x);
    values[1] = __uint_as_float(words.y);
    values[2] = __uint_as_float(words.z);
    values[3] = __uint_as_float(words.w);
}
template <class T>
__device__ __forceinline__ uint4 narrow_words(const float* values, T type) {
    return {narrow_pair(values[0], values[1], type), narrow_pair(values[2], values[3], type),
            narrow_pair(values[4], values[5], type), narrow_pair(values[6], values[7], type)};
}
__device__ __forceinline__ uint4 narrow_words(const float* values, float) {
    return {__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
            __float_as_uint(values[3])};
}

}  // namespace lockstep::kernels::cuda
