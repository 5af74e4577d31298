// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lockstep::kernels {

// Adds squares of the elements of a buffer without rounding the total, so that its bits do not
// depend on the order of the addends, nor on how they are divided among ranks. An addend is the sum
// of the squares of at most square_cell fp32 numbers, calculated in fp64. Word i counts units of
// 2^(32 i - 298); the square of the smallest fp32 number is 2^-298. An addend puts less than 2^32
// in a word, so 2^32 of them fit. The sums of ranks are added word by word, as integers.
struct ExactSum {
    static constexpr std::size_t words = 19;  // the last one counts addends that are not finite
    static constexpr std::size_t digits = words - 1;

    std::uint64_t word[words] = {};

    constexpr void add(double addend) noexcept {
        add_to(addend, [this](std::size_t index, std::uint64_t value) { word[index] += value; });
    }
    constexpr ExactSum& operator+=(const ExactSum& other) noexcept {
        for (std::size_t i = 0; i < words; ++i) word[i] += other.word[i];
        return *this;
    }
    // Returns the total, rounded to fp64; infinity if an addend was not finite.
    constexpr double value() const noexcept {
        if (word[digits] != 0) return std::numeric_limits<double>::infinity();
        double sum = 0;
        for (std::size_t i = 0; i < digits; ++i) sum = sum * 0x1p-32 + static_cast<double>(word[i]);
        return sum * 0x1p246;  // the unit of the last digit: 32 * 17 - 298
    }
    // Calls add_word(index, value) for the words to which an addend, which is not negative, adds.
    template <class AddWord>
    static constexpr void add_to(double addend, const AddWord& add_word) noexcept {
        constexpr int mantissa_bits = 52, least = 777;  // the exponent field of 2^-246
        const auto bits = std::bit_cast<std::uint64_t>(addend);
        const auto exponent = static_cast<int>(bits >> mantissa_bits & 0x7FF);
        if (exponent == 0) return;  // 0: a smaller number is no sum of squares
        if (exponent == 0x7FF) return add_word(digits, std::uint64_t{1});
        const std::uint64_t one = std::uint64_t{1} << mantissa_bits;
        const std::uint64_t mantissa = (bits & (one - 1)) | one;
        if (exponent < least) {  // the bits that are shifted out are zeros
            const std::uint64_t units = mantissa >> (least - exponent);
            add_word(0, units & 0xFFFFFFFF);
            return add_word(1, units >> 32);
        }
        const int first = (exponent - least) / 32, shift = (exponent - least) % 32;
        const auto index = static_cast<std::size_t>(first);
        const std::uint64_t low = mantissa << shift;
        add_word(index, low & 0xFFFFFFFF);
        add_word(index + 1, low >> 32);
        if (shift > 64 - mantissa_bits - 1) add_word(index + 2, mantissa >> (64 - shift));
    }
};

// So many successive elements make one addend.
constexpr std::size_t square_cell = 256;

}  // namespace lockstep::kernels
