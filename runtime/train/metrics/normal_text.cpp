// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/normal_text.hpp"

#include <algorithm>

namespace lockstep::train {
namespace {

bool is_ascii_punctuation(char c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

// Tells whether a character is neither white space nor part of a word: the signs that stand next to
// words in ordinary text. Python's \w excludes more characters, but they would matter only directly
// next to an article.
bool is_sign(char32_t c) {
    struct Range {
        char32_t first, last;
    };
    constexpr Range signs[] = {
        {0x00, 0x1F},     {0x7F, 0xA9},      {0xAB, 0xB1},     {0xB4, 0xB4},     {0xB6, 0xB8},
        {0xBB, 0xBB},     {0xBF, 0xBF},      {0xD7, 0xD7},     {0xF7, 0xF7},     {0x300, 0x36F},
        {0x200B, 0x206F}, {0x20A0, 0x20FF},  {0x2190, 0x245F}, {0x2500, 0x2775}, {0x2794, 0x2BFF},
        {0x3001, 0x3003}, {0x3008, 0x3020},  {0xFE00, 0xFE0F}, {0xFE10, 0xFE6F}, {0xFF01, 0xFF0F},
        {0xFF1A, 0xFF20}, {0x1F300, 0x1FAFF}};
    return std::ranges::any_of(signs, [c](Range r) { return r.first <= c && c <= r.last; });
}

// Holds the code point that begins at text[at] and its length. A byte that is not valid UTF-8
// counts as one character.
struct CodePoint {
    char32_t value;
    std::size_t bytes;
};

CodePoint decode(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || at + length > text.size()) return {0xFFFD, 1};
    char32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t i = at + 1; i < at + length; ++i) {
        if ((byte(i) & 0xC0u) != 0x80u) return {0xFFFD, 1};
        value = (value << 6) | (byte(i) & 0x3Fu);
    }
    return {value, length};
}

bool is_article(std::string_view word) { return word == "a" || word == "an" || word == "the"; }

}  // namespace

std::string lower_ascii(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

std::string normalize_answer(std::string_view text, const Lower& lower) {
    const std::string lowered = lower(text);
    std::string normal, word;  // characters since the last white space, with signs
    std::string run;           // letters since the last sign; removed if they are an article
    const auto end_run = [&] {
        word += is_article(run) ? " " : run;
        run.clear();
    };
    const auto end_word = [&] {
        end_run();
        for (const std::string& part : NormalText::split(word)) {
            if (!normal.empty()) normal += ' ';
            normal += part;
        }
        word.clear();
    };
    for (std::size_t at = 0; at < lowered.size();) {
        const auto [value, bytes] = decode(lowered, at);
        const std::string_view here = std::string_view(lowered).substr(at, bytes);
        if (is_space(value) || is_ascii_punctuation(here[0])) {
            end_word();
        } else if (is_sign(value)) {
            end_run();
            word += here;
        } else {
            run += here;
        }
        at += bytes;
    }
    end_word();
    return normal;
}

Tokens NormalText::split(std::string_view text) {
    Tokens words;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        if (end > begin) words.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

NormalText::NormalText(std::string_view written, const Lower& lower)
    : text(normalize_answer(written, lower)), words(split(text)) {}

}  // namespace lockstep::train
