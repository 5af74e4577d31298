// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/core/view.hpp"

// An optimizer's moments in 8 bits, after "8-bit Optimizers via Block-wise Quantization" (arXiv
// 2110.02861): each cell of 256 elements has the magnitude of its largest element as its scale, and
// each element has a code, the number of one of 256 shares of the scale. The shares are those of
// bitsandbytes' create_dynamic_map(): seven decades from 1e-7 to 1, each with twice as many equally
// spaced shares as the one below, then 0 and 1.
namespace lockstep::kernels {

constexpr std::size_t moment_cell = 256;  // elements that share a scale
constexpr std::size_t moment_scales(std::size_t elements) noexcept {
    return (elements + moment_cell - 1) / moment_cell;
}

// with_sign: for first moments; its codes 0 to 126 are negative, and -1 is not one of its shares.
// without_sign: for second moments; a positive value never gets the code of 0, because its root is
// a divisor.
enum class DynamicMap { with_sign, without_sign };

namespace moment_codes {

constexpr int decades = 7;

// The positive shares are counted so that those of a decade have the numbers [size, 2 size).
constexpr int decade_size(DynamicMap map, int decade) noexcept {
    return 1 << (map == DynamicMap::with_sign ? decade : decade + 1);
}
// The number of the share 1, which is the largest.
constexpr int number_of_one(DynamicMap map) noexcept { return decade_size(map, decades); }
// The code of the positive share of number n is n plus this; number 0 is the share 0.
constexpr int code_of_number_0(DynamicMap map) noexcept {
    return map == DynamicMap::with_sign ? 127 : -1;
}

// Returns 10^(decades - 1 - decade), the inverse of a decade's upper end.
constexpr double inverse_end(int decade) noexcept {
    double power = 1;
    for (int d = decade; d < decades - 1; ++d) power *= 10;
    return power;
}

// Returns the share of a positive number: the middle of one of the equal parts of its decade.
constexpr double share_of_number(DynamicMap map, int number) noexcept {
    if (number == number_of_one(map)) return 1;
    int decade = 0;
    while (number >= 2 * decade_size(map, decade)) ++decade;
    const double size = decade_size(map, decade);
    return (0.1 + 0.9 * (number - size + 0.5) / size) / inverse_end(decade);
}

// Returns the smallest share that is nearer to `number` than to the number before it.
constexpr double least_share(DynamicMap map, int number) noexcept {
    return (share_of_number(map, number - 1) + share_of_number(map, number)) / 2;
}

}  // namespace moment_codes

constexpr std::uint8_t code_of_zero(DynamicMap map) noexcept {
    return map == DynamicMap::with_sign ? 127 : 0;
}

// Returns the share of each code.
constexpr std::array<float, 256> moment_shares(DynamicMap map) noexcept {
    std::array<float, 256> shares{};
    const int zero = moment_codes::code_of_number_0(map);
    const int one = moment_codes::number_of_one(map);
    const int first = moment_codes::decade_size(map, 0);
    for (int n = first; n <= one; ++n) {
        const auto share = static_cast<float>(moment_codes::share_of_number(map, n));
        const int code = zero + n, code_of_negative = zero - n;
        shares[static_cast<std::size_t>(code)] = share;
        if (map == DynamicMap::with_sign && n < one)
            shares[static_cast<std::size_t>(code_of_negative)] = -share;
    }
    return shares;
}

namespace moment_codes {

// Holds the number of the nearest share while the decades are tried from the lowest to the highest:
// number = factor * magnitude + size * 8 / 9, cut to a whole number in [size, 2 size).
struct Decade {
    float factor;
    int size;
};
constexpr Decade decade_of(DynamicMap map, int decade) noexcept {
    const int size = decade_size(map, decade);
    return {static_cast<float>(size * inverse_end(decade) / 0.9), size};
}

template <DynamicMap map, int decade>
constexpr Decade with_higher(Decade found, float magnitude) noexcept {
    if constexpr (decade == decades) {
        return found;
    } else {
        constexpr auto least = static_cast<float>(least_share(map, decade_size(map, decade)));
        constexpr Decade here = decade_of(map, decade);
        found.factor = magnitude >= least ? here.factor : found.factor;
        found.size = magnitude >= least ? here.size : found.size;
        return with_higher<map, decade + 1>(found, magnitude);
    }
}

// Returns the number of the share that is the nearest to a magnitude.
template <DynamicMap map>
constexpr int nearest_number(float magnitude) noexcept {
    constexpr int one = number_of_one(map);
    constexpr auto least_of_one = static_cast<float>(least_share(map, one));
    constexpr auto half_of_first =
        static_cast<float>(share_of_number(map, decade_size(map, 0)) / 2);
    const Decade decade = with_higher<map, 1>(decade_of(map, 0), magnitude);
    const float place = magnitude * decade.factor + static_cast<float>(decade.size) * (8.0f / 9.0f);
    int number = static_cast<int>(place);
    number = number < decade.size ? decade.size : number;
    number = number < 2 * decade.size ? number : 2 * decade.size - 1;
    number = magnitude >= least_of_one ? one : number;
    if constexpr (map == DynamicMap::with_sign)
        return magnitude >= half_of_first ? number : 0;
    else
        return magnitude > 0.0f ? number : 1;
}

}  // namespace moment_codes

// Returns the code of the share that is the nearest to `value` times `inverse`.
template <DynamicMap map>
constexpr std::uint8_t moment_code(float value, float inverse) noexcept {
    const float share = value * inverse;
    const int number = moment_codes::nearest_number<map>(share < 0.0f ? -share : share);
    constexpr int zero = moment_codes::code_of_number_0(map);
    if constexpr (map == DynamicMap::without_sign) return static_cast<std::uint8_t>(zero + number);
    constexpr int most = moment_codes::number_of_one(map) - 1;
    const int negative = zero - (number < most ? number : most);
    return static_cast<std::uint8_t>(share < 0.0f ? negative : zero + number);
}

// Returns what the values of a cell are multiplied by. A cell whose largest magnitude has no
// inverse counts as zeros: its scale is 0.
constexpr float least_moment_scale = 0x1p-126f;
constexpr float inverse_scale(float scale) noexcept {
    return scale >= least_moment_scale ? 1.0f / scale : 0.0f;
}

// Fills `values` with the shares of their codes times the scales of their cells; values.size() ==
// codes.size(), and scales.size() == moment_scales(codes.size()).
void decode_moments(DynamicMap map, HostView<const std::uint8_t> codes,
                    HostView<const float> scales, HostView<float> values);
// Gives each cell of `values` its scale, and each value the code of the nearest share. Sizes are as
// above; values are finite.
void encode_moments(DynamicMap map, HostView<const float> values, HostView<std::uint8_t> codes,
                    HostView<float> scales);

}  // namespace lockstep::kernels
