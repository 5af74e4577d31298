// SPDX-License-Identifier: Apache-2.0
#include "data/bpe/byte_alphabet.hpp"

#include <array>

#include "data/text/unicode.hpp"

namespace lockstep::data {
namespace {

constexpr bool stands_for_itself(unsigned byte) noexcept {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteCharacter {
    std::array<char, 2> text{};
    std::uint8_t bytes = 0;
};

constexpr ByteCharacter encoded(unsigned c) noexcept {
    if (c < 0x80) return {{static_cast<char>(c)}, 1};
    return {{static_cast<char>(0xC0u | (c >> 6)), static_cast<char>(0x80u | (c & 0x3Fu))}, 2};
}

// The bytes that do not stand for themselves have the characters from U+0100 on, in their order.
struct Alphabet {
    std::array<ByteCharacter, 256> characters{};
    std::array<std::int16_t, 0x180> bytes{};

    constexpr Alphabet() {
        for (auto& byte : bytes) byte = -1;
        unsigned next = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const unsigned c = stands_for_itself(byte) ? byte : next++;
            characters[byte] = encoded(c);
            bytes[c] = static_cast<std::int16_t>(byte);
        }
    }
};

constexpr Alphabet alphabet;

}  // namespace

std::string_view character_of_byte(std::uint8_t byte) noexcept {
    const ByteCharacter& character = alphabet.characters[byte];
    return {character.text.data(), character.bytes};
}

void append_byte_characters(std::string_view bytes, std::string& out) {
    for (const char byte : bytes) out += character_of_byte(static_cast<std::uint8_t>(byte));
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        const unicode::Decoded c = unicode::decode(text);
        const bool known = c.bytes != 0 && c.code_point < alphabet.bytes.size() &&
                           alphabet.bytes[c.code_point] >= 0;
        if (!known) return std::nullopt;
        bytes += static_cast<char>(alphabet.bytes[c.code_point]);
        text.remove_prefix(c.bytes);
    }
    return bytes;
}

}  // namespace lockstep::data
