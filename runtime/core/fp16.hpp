// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

// fp16 is IEEE binary16. Conversion rounds to nearest even, keeps NaN quiet and turns magnitudes
// from 65520 on into infinity. This type is for storage only: arithmetic is done in float.
struct fp16 {
    std::uint16_t bits = 0;

    constexpr fp16() noexcept = default;
    explicit constexpr fp16(float value) noexcept {
        const auto u = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t magnitude = u & 0x7FFFFFFFu;
        bits = static_cast<std::uint16_t>((u >> 16 & 0x8000u) | rounded(magnitude));
    }
    explicit constexpr operator float() const noexcept {
        const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
        if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | magnitude << 13);
        // The float with the same digits is 2^112 too small. The product is exact, also for
        // subnormals.
        const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
    }

private:
    static constexpr std::uint32_t rounded(std::uint32_t magnitude) noexcept {
        if (magnitude > 0x7F800000u) return 0x7E00u | (magnitude >> 13 & 0x3FFu);
        if (magnitude >= 0x477FF000u) return 0x7C00u;
        if (magnitude >= 0x38800000u)
            return (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
        // The result is subnormal: adding 0.5 shifts the digits that remain to the lower end of the
        // sum and rounds them.
        const float sum = std::bit_cast<float>(magnitude) + 0.5f;
        return std::bit_cast<std::uint32_t>(sum) - 0x3F000000u;
    }
};

}  // namespace lockstep
