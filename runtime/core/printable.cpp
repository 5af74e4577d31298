// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/printable.hpp"

#include <algorithm>
#include <cstddef>

namespace lockstep {
namespace {

constexpr std::size_t value_characters = 80;
constexpr std::size_t message_begin_bytes = 1500, message_end_bytes = 500;

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

// Returns the number of bytes of the UTF-8 character at the front of `text`; 0: there is none.
// Overlong forms and surrogates are not told apart: a terminal replaces them.
std::size_t character_bytes(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t bytes = first < 0x80                    ? 1
                              : first >= 0xc2 && first < 0xe0 ? 2
                              : first >= 0xe0 && first < 0xf0 ? 3
                              : first >= 0xf0 && first < 0xf5 ? 4
                                                              : 0;
    if (bytes == 0 || bytes > text.size()) return 0;
    return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(bytes),
                       continues)
               ? bytes
               : 0;
}

// C1 control characters are U+0080 to U+009F, which are C2 80 to C2 9F in UTF-8.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character.front());
    if (character.size() == 1) return first < 0x20 || first == 0x7f;
    return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

void append_escaped(std::string& out, std::string_view bytes) {
    constexpr const char* digits = "0123456789abcdef";
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        out += {'\\', 'x', digits[value >> 4U], digits[value & 15U]};
    }
}

// Appends up to `most` characters, of which those in `kept` stay as they are.
std::string escaped(std::string_view text, std::size_t max, std::string_view kept) {
    std::string out;
    for (std::size_t count = 0; !text.empty(); ++count) {
        if (count == max) return out + "...";
        const std::size_t bytes = character_bytes(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
        const bool plain = bytes > 0 && (!is_control(character) ||
                                         kept.find(character.front()) != std::string_view::npos);
        if (plain) {
            out += character;
        } else {
            append_escaped(out, character);
        }
        text.remove_prefix(character.size());
    }
    return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, std::string::npos, ""); }

std::string printable_lines(std::string_view text) {
    return escaped(text, std::string::npos, "\n\t");
}

std::string shown(std::string_view value) { return escaped(value, value_characters, ""); }

std::string shown_message(std::string_view message) {
    if (message.size() <= message_begin_bytes + message_end_bytes) return printable(message);
    std::size_t begin = message_begin_bytes, end = message.size() - message_end_bytes;
    while (begin > 0 && continues(message[begin])) --begin;
    while (end < message.size() && continues(message[end])) ++end;
    return printable(message.substr(0, begin)) + " ... " + printable(message.substr(end));
}

}  // namespace lockstep
