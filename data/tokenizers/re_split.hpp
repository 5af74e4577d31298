// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "data/text/unicode.hpp"

namespace lockstep::data {
namespace re_split_detail {

// Python counts the separators 0x1C to 0x1F as spaces.
constexpr std::array<unicode::Class, 128> ascii_classes() {
    std::array<unicode::Class, 128> classes{};
    for (std::size_t c = 0; c < 128; ++c) {
        const bool word =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        const bool space = (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
        classes[c] = word    ? unicode::Class::word
                     : space ? unicode::Class::space
                             : unicode::Class::other;
    }
    return classes;
}

inline constexpr auto classes = ascii_classes();

struct Character {
    unicode::Class kind;
    std::size_t bytes;
};

inline Character character_at(std::string_view text, std::size_t i) noexcept {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) return {classes[byte], 1};
    const unicode::Decoded d = unicode::decode(text.substr(i));
    if (d.bytes == 0) return {unicode::Class::other, 1};
    return {unicode::class_of(d.code_point), d.bytes};
}

}  // namespace re_split_detail

// Calls `token(std::string_view)` for every match of Python's `\w+|[^\w\s]|\n` in UTF-8 text. A
// byte that is not UTF-8 is a token of its own.
template <class Token>
void for_each_token(std::string_view text, Token&& token) {
    using re_split_detail::character_at;
    for (std::size_t i = 0; i < text.size();) {
        const auto first = character_at(text, i);
        std::size_t end = i + first.bytes;
        if (first.kind == unicode::Class::word) {
            while (end < text.size()) {
                const auto next = character_at(text, end);
                if (next.kind != unicode::Class::word) break;
                end += next.bytes;
            }
        }
        if (first.kind != unicode::Class::space || text[i] == '\n') token(text.substr(i, end - i));
        i = end;
    }
}

}  // namespace lockstep::data
