// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

struct bf16;
struct fp16;

// Names the type of an element in memory, in a file or in a message.
enum class Dtype : std::uint8_t { fp32, fp64, bf16, u64, fp16, byte };

constexpr std::size_t bytes_of(Dtype dtype) noexcept {
    switch (dtype) {
        case Dtype::fp32:
            return 4;
        case Dtype::fp64:
        case Dtype::u64:
            return 8;
        case Dtype::bf16:
        case Dtype::fp16:
            return 2;
        case Dtype::byte:
            return 1;
    }
    return 1;
}

// Maps a C++ type to its Dtype.
template <class T>
constexpr Dtype dtype_of = Dtype::byte;
template <>
inline constexpr Dtype dtype_of<float> = Dtype::fp32;
template <>
inline constexpr Dtype dtype_of<double> = Dtype::fp64;
template <>
inline constexpr Dtype dtype_of<bf16> = Dtype::bf16;
template <>
inline constexpr Dtype dtype_of<std::uint64_t> = Dtype::u64;
template <>
inline constexpr Dtype dtype_of<fp16> = Dtype::fp16;

}  // namespace lockstep
