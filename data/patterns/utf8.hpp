// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Valid UTF-8: these functions check nothing.
namespace lockstep::data::utf8 {

struct Character {
    char32_t code_point;
    std::size_t bytes;
};

// Returns the character at `at`, which is the beginning of one.
inline Character character_at(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) -> char32_t {
        return static_cast<unsigned char>(text[at + i]);
    };
    const char32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const char32_t second = byte(1) & 0x3F;
    if (lead < 0xE0) return {(lead & 0x1F) << 6 | second, 2};
    const char32_t third = byte(2) & 0x3F;
    if (lead < 0xF0) return {(lead & 0x0F) << 12 | second << 6 | third, 3};
    return {(lead & 0x07) << 18 | second << 12 | third << 6 | (byte(3) & 0x3F), 4};
}

// Returns the beginning of the character that ends at `end`.
inline std::size_t last_before(std::string_view text, std::size_t end) noexcept {
    do --end;
    while ((static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u);
    return end;
}

void append(char32_t code_point, std::string& out);

}  // namespace lockstep::data::utf8
