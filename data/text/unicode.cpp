// SPDX-License-Identifier: Apache-2.0
#include "data/text/unicode.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "data/text/unicode_tables.hpp"

namespace lockstep::data::unicode {
namespace {

constexpr char32_t capital_sigma = 0x3A3, small_sigma = 0x3C3, final_sigma = 0x3C2;

template <class R>
const R* range_of(std::span<const R> ranges, char32_t c) noexcept {
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                        [](char32_t value, const R& r) { return value < r.first; });
    if (after == ranges.begin()) return nullptr;
    const R& range = *(after - 1);
    return c <= range.last ? &range : nullptr;
}

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

char32_t lower_of(char32_t c) noexcept {
    const LowerRange* range = range_of(lower_ranges, c);
    if (!range || (c - range->first) % static_cast<char32_t>(range->stride) != 0) return c;
    return static_cast<char32_t>(static_cast<std::int64_t>(c) + range->delta);
}

// Returns true if the next character that is not case-ignorable is a cased one.
bool cased_follows(std::string_view text) noexcept {
    while (!text.empty()) {
        const Decoded d = decode(text);
        if (d.bytes == 0 || !range_of(ignorable_ranges, d.code_point))
            return d.bytes != 0 && range_of(cased_ranges, d.code_point);
        text.remove_prefix(d.bytes);
    }
    return false;
}

bool cased_precedes(std::string_view text) noexcept {
    while (!text.empty()) {
        std::size_t begin = text.size() - 1;
        while (begin > 0 && is_continuation(text[begin])) --begin;
        const Decoded d = decode(text.substr(begin));
        if (d.bytes == 0 || !range_of(ignorable_ranges, d.code_point))
            return d.bytes != 0 && range_of(cased_ranges, d.code_point);
        text.remove_suffix(text.size() - begin);
    }
    return false;
}

constexpr char ascii_lower(char c) noexcept {
    return static_cast<char>(c + (static_cast<unsigned char>(c - 'A') < 26 ? 'a' - 'A' : 0));
}

// Appends the lower case of the character at `at` and returns the character's length in `text`.
std::size_t append_lower(std::string_view text, std::size_t at, std::string& out) {
    const Decoded d = decode(text.substr(at));
    if (d.bytes == 0) {
        out += text[at];
        return 1;
    }
    if (d.code_point == capital_sigma) {
        const bool last = cased_precedes(text.substr(0, at)) && !cased_follows(text.substr(at + 2));
        append(last ? final_sigma : small_sigma, out);
    } else if (d.code_point == 0x130) {  // the only character whose lower case has two code points
        out += "i\u0307";
    } else {
        append(lower_of(d.code_point), out);
    }
    return d.bytes;
}

}  // namespace

Class class_of(char32_t c) noexcept {
    if (range_of(word_ranges, c)) return Class::word;
    return range_of(space_ranges, c) ? Class::space : Class::other;
}

Decoded decode(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
    char32_t c = lead & (0x7Fu >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if (!is_continuation(text[i])) return {};
        c = (c << 6) | (byte(i) & 0x3Fu);
    }
    const bool overlong = (bytes == 3 && c < 0x800) || (bytes == 4 && c < 0x10000);
    if (overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return {};
    return {c, bytes};
}

bool is_ascii(std::string_view text) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + i, 8);
        if (word & 0x8080808080808080ull) return false;
    }
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::size_t first_invalid(std::string_view text) noexcept {
    constexpr std::size_t stride = 64;
    for (std::size_t i = 0; i < text.size();) {
        if (i + stride <= text.size() && is_ascii(text.substr(i, stride))) {
            i += stride;
            continue;
        }
        const Decoded d = decode(text.substr(i));
        if (d.bytes == 0) return i;
        i += d.bytes;
    }
    return text.size();
}

std::string lower(std::string_view text) {
    std::string out;
    if (is_ascii(text)) {
        out.resize(text.size());
        std::transform(text.begin(), text.end(), out.begin(), ascii_lower);
        return out;
    }
    out.reserve(text.size() + 2);
    for (std::size_t i = 0; i < text.size();) {
        if (static_cast<unsigned char>(text[i]) < 0x80)
            out += ascii_lower(text[i++]);
        else
            i += append_lower(text, i, out);
    }
    return out;
}

}  // namespace lockstep::data::unicode
