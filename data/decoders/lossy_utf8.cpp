// SPDX-License-Identifier: Apache-2.0
#include "data/decoders/lossy_utf8.hpp"

#include <algorithm>

#include "data/text/unicode.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

unsigned char at(std::string_view bytes, std::size_t i) noexcept {
    return static_cast<unsigned char>(bytes[i]);
}

std::size_t length_of(unsigned char first) noexcept {
    if (first >= 0xC2 && first <= 0xDF) return 2;
    if (first >= 0xE0 && first <= 0xEF) return 3;
    if (first >= 0xF0 && first <= 0xF4) return 4;
    return 1;
}

bool may_follow(unsigned char first, std::size_t place, unsigned char next) noexcept {
    unsigned char least = 0x80, most = 0xBF;
    if (place == 1 && first == 0xE0) least = 0xA0;
    if (place == 1 && first == 0xED) most = 0x9F;
    if (place == 1 && first == 0xF0) least = 0x90;
    if (place == 1 && first == 0xF4) most = 0x8F;
    return next >= least && next <= most;
}

// Returns the bytes of the longest beginning of a character; 1 if there is none.
std::size_t begun(std::string_view bytes) noexcept {
    const std::size_t whole = std::min(length_of(at(bytes, 0)), bytes.size());
    std::size_t length = 1;
    while (length < whole && may_follow(at(bytes, 0), length, at(bytes, length))) ++length;
    return length;
}

}  // namespace

std::string lossy_utf8(std::string_view bytes) {
    const std::size_t valid = unicode::first_invalid(bytes);
    std::string text(bytes.substr(0, valid));
    for (std::size_t i = valid; i < bytes.size();) {
        const std::size_t whole = unicode::decode(bytes.substr(i)).bytes;
        const std::size_t length = whole != 0 ? whole : begun(bytes.substr(i));
        text += whole != 0 ? bytes.substr(i, whole) : replacement;
        i += length;
    }
    return text;
}

std::size_t incomplete_bytes(std::string_view bytes) noexcept {
    for (std::size_t length = 1; length <= std::min<std::size_t>(3, bytes.size()); ++length) {
        const std::string_view end = bytes.substr(bytes.size() - length);
        const std::size_t whole = length_of(at(end, 0));
        if (whole > 1) return whole > length && begun(end) == length ? length : 0;
    }
    return 0;
}

}  // namespace lockstep::data
