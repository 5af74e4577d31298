// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::data {

// The classes of a code point, one bit for each.
enum ClassBit : unsigned {
    letter_class = 1,
    number_class = 2,
    mark_class = 4,
    space_class = 8,
    punctuation_class = 16,
    numeric_class = 32,
    unsettled_class = 64  // NFC may change it, or join it to the character before
};

// The code points from `first` to the next range's first have the same classes.
struct ClassRange {
    char32_t first;
    unsigned char classes;
};

inline constexpr unsigned class_page_bits = 6;
inline constexpr std::size_t class_pages_count = 0x110000u >> class_page_bits;

// Returns for each page of 64 code points the range that holds its first one.
constexpr std::array<std::uint16_t, class_pages_count> pages_of(
    std::span<const ClassRange> ranges) {
    std::array<std::uint16_t, class_pages_count> pages{};
    std::uint16_t range = 0;
    for (std::size_t page = 0; page < class_pages_count; ++page) {
        while (ranges[range + 1u].first <= page << class_page_bits) ++range;
        pages[page] = range;
    }
    return pages;
}

constexpr std::array<unsigned char, 128> ascii_of(std::span<const ClassRange> ranges) {
    std::array<unsigned char, 128> classes{};
    std::size_t range = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
        while (ranges[range + 1].first <= c) ++range;
        classes[c] = ranges[range].classes;
    }
    return classes;
}

// The ranges ascend from 0; the last one begins behind the last code point.
extern const std::span<const ClassRange> class_ranges;
extern const std::array<std::uint16_t, class_pages_count> class_pages;
extern const std::array<unsigned char, 128> ascii_classes;

// Returns the classes of a code point up to U+10FFFF.
inline unsigned classes_of(char32_t code_point) noexcept {
    if (code_point < 0x80) return ascii_classes[code_point];
    const ClassRange* range = &class_ranges[class_pages[code_point >> class_page_bits]];
    while (range[1].first <= code_point) ++range;
    return range->classes;
}

}  // namespace lockstep::data
