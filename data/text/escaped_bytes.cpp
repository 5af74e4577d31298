// SPDX-License-Identifier: Apache-2.0
#include "data/text/escaped_bytes.hpp"

#include "data/text/unicode.hpp"

namespace lockstep::data {
namespace {

constexpr char32_t first_escape = 0x10FF00, last_escape = 0x10FFFF;

bool is_escape(char32_t code_point) noexcept {
    return code_point >= first_escape && code_point <= last_escape;
}

}  // namespace

std::string escape_bytes(std::string_view bytes) {
    if (unicode::is_ascii(bytes)) return std::string(bytes);
    std::string text;
    while (!bytes.empty()) {
        const unicode::Decoded next = unicode::decode(bytes);
        const bool stays = next.bytes > 0 && !is_escape(next.code_point);
        if (stays)
            text += bytes.substr(0, next.bytes);
        else
            unicode::append(first_escape + static_cast<unsigned char>(bytes.front()), text);
        bytes.remove_prefix(stays ? next.bytes : 1);
    }
    return text;
}

std::string unescape_bytes(std::string_view text) {
    if (unicode::is_ascii(text)) return std::string(text);
    std::string bytes;
    while (!text.empty()) {
        const unicode::Decoded next = unicode::decode(text);
        const bool escape = next.bytes > 0 && is_escape(next.code_point);
        const std::size_t taken = next.bytes > 0 ? next.bytes : 1;
        if (escape)
            bytes += static_cast<char>(next.code_point - first_escape);
        else
            bytes += text.substr(0, taken);
        text.remove_prefix(taken);
    }
    return bytes;
}

}  // namespace lockstep::data
