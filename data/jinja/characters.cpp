// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/characters.hpp"

#include "data/text/unicode.hpp"

namespace lockstep::data::jinja {
namespace {

using unicode::Class;

// A byte that is no UTF-8 is a character of its own.
unicode::Decoded first_of(std::string_view text) noexcept {
    const unicode::Decoded first = unicode::decode(text);
    return first.bytes == 0 ? unicode::Decoded{0xFFFD, 1} : first;
}

bool continues(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

bool is_digit(char32_t code_point) noexcept { return code_point >= '0' && code_point <= '9'; }

}  // namespace

std::size_t spaces_at_begin(std::string_view text) noexcept {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const unicode::Decoded character = first_of(text.substr(bytes));
        if (unicode::class_of(character.code_point) != Class::space) break;
        bytes += character.bytes;
    }
    return bytes;
}

std::size_t spaces_at_end(std::string_view text) noexcept {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const std::string_view rest = text.substr(0, text.size() - bytes);
        const std::size_t last = last_character_bytes(rest);
        const char32_t code_point = first_of(rest.substr(rest.size() - last)).code_point;
        if (unicode::class_of(code_point) != Class::space) break;
        bytes += last;
    }
    return bytes;
}

std::size_t character_bytes(std::string_view text) noexcept { return first_of(text).bytes; }

std::size_t last_character_bytes(std::string_view text) noexcept {
    std::size_t bytes = 1;
    while (bytes < 4 && bytes < text.size() && continues(text[text.size() - bytes])) ++bytes;
    return first_of(text.substr(text.size() - bytes)).bytes == bytes ? bytes : 1;
}

std::size_t count_characters(std::string_view text) noexcept {
    std::size_t count = 0;
    for (const char byte : text) count += continues(byte) ? 0 : 1;
    return count;
}

std::size_t name_bytes(std::string_view text) noexcept {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const unicode::Decoded character = first_of(text.substr(bytes));
        if (unicode::class_of(character.code_point) != Class::word) break;
        if (bytes == 0 && is_digit(character.code_point)) break;
        bytes += character.bytes;
    }
    return bytes;
}

std::string with_line_feeds(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\r')
            out += text[i];
        else if (i + 1 == text.size() || text[i + 1] != '\n')
            out += '\n';
    }
    return out;
}

}  // namespace lockstep::data::jinja
