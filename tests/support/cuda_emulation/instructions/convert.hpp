// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"

// This is the emulated counterpart of
// runtime/kernels/cuda/instructions_ptx/instructions/convert.hpp.
namespace lockstep::kernels::cuda {

template <class T>
float widen(T x) {
    return static_cast<float>(x);
}
template <class T>
T narrow(float x) {
    return static_cast<T>(x);
}

template <class T>
std::uint32_t narrow_pair(float low, float high, T) {
    return static_cast<std::uint32_t>(T(high).bits) << 16 | T(low).bits;
}
template <class T>
void widen_pair(std::uint32_t word, float* values, T) {
    T low, high;
    low.bits = static_cast<std::uint16_t>(word);
    high.bits = static_cast<std::uint16_t>(word >> 16);
    values[0] = static_cast<float>(low);
    values[1] = static_cast<float>(high);
}

template <class T>
void widen_words(uint4 words, float* values, T type) {
    widen_pair(words.x, values, type);
    widen_pair(words.y, values + 2, type);
    widen_pair(words.z, values + 4, type);
    widen_pair(words.w, values + 6, type);
}
inline void widen_words(uint4 words, float* values, float) {
    values[0] = std::bit_cast<float>(words.x);
    values[1] = std::bit_cast<float>(words.y);
    values[2] = std::bit_cast<float>(words.z);
    values[3] = std::bit_cast<float>(words.w);
}
template <class T>
uint4 narrow_words(const float* values, T type) {
    return {narrow_pair(values[0], values[1], type), narrow_pair(values[2], values[3], type),
            narrow_pair(values[4], values[5], type), narrow_pair(values[6], values[7], type)};
}
inline uint4 narrow_words(const float* values, float) {
    return {std::bit_cast<unsigned>(values[0]), std::bit_cast<unsigned>(values[1]),
            std::bit_cast<unsigned>(values[2]), std::bit_cast<unsigned>(values[3])};
}

}  // namespace lockstep::kernels::cuda
