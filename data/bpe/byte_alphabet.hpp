// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// GPT-2's alphabet: one printable character for each byte, in which byte-level vocabularies are
// written.
namespace lockstep::data {

// Returns the character of a byte as UTF-8.
std::string_view character_of_byte(std::uint8_t byte) noexcept;

// Appends the characters of the bytes.
void append_byte_characters(std::string_view bytes, std::string& out);

// Returns the bytes that UTF-8 text of these characters stands for; nothing if it has any other
// character.
std::optional<std::string> bytes_of_characters(std::string_view text);

}  // namespace lockstep::data
