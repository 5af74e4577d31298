// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

// bfloat16 is the upper half of an IEEE float. Conversion rounds to nearest even and keeps NaN
// quiet.
struct bf16 {
    std::uint16_t bits = 0;

    constexpr bf16() noexcept = default;
    explicit constexpr bf16(float value) noexcept {
        const auto u = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
        const std::uint32_t quiet = (u >> 16) | 0x40u;
        bits = static_cast<std::uint16_t>((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
    }
    explicit constexpr operator float() const noexcept {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
};

}  // namespace lockstep
