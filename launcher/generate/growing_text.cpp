// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/growing_text.hpp"

#include <algorithm>

#include "data/text/unicode.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::string_view missing_bytes = "\xEF\xBF\xBD";  // how a part of a character decodes

bool is_blank(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

// Thai and Lao, and what begins with the radicals of Chinese, are written without blanks.
bool needs_no_blank(char32_t character) {
    return (character >= 0x0E00 && character < 0x0F00) || character >= 0x2E80;
}

std::size_t last_character(std::string_view text) {
    std::size_t first = text.size() - 1;
    while (first > 0 && (static_cast<unsigned char>(text[first]) & 0xC0U) == 0x80U) --first;
    return first;
}

// Returns the part of the text up to the last word, which more tokens may change.
std::string_view without_last_word(std::string_view text) {
    while (text.ends_with(missing_bytes)) text.remove_suffix(missing_bytes.size());
    while (!text.empty()) {
        const std::size_t first = last_character(text);
        if (needs_no_blank(data::unicode::decode(text.substr(first)).code_point)) return text;
        const bool blank = is_blank(text.back());
        text = text.substr(0, first);
        if (blank) break;
    }
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace

std::string GrowingText::grow(std::string_view text, std::size_t held_bytes) {
    text.remove_suffix(std::min(held_bytes, text.size()));
    text = text.substr(0, data::unicode::first_invalid(text));
    const std::string_view certain = without_last_word(text);
    if (certain.size() <= shown_.size() || !certain.starts_with(shown_)) return "";
    std::string more(certain.substr(shown_.size()));
    shown_ = certain;
    return more;
}

std::string GrowingText::finish(std::string_view reply) const {
    if (!reply.starts_with(shown_)) return "\n" + std::string(reply);
    return std::string(reply.substr(shown_.size()));
}

}  // namespace lockstep::launcher
