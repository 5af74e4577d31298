// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/utf8.hpp"

namespace lockstep::data::utf8 {

void append(char32_t c, std::string& out) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80u | ((c >> shift) & 0x3Fu)); };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0u | (c >> 6));
        tail(0);
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0u | (c >> 12));
        tail(6), tail(0);
    } else {
        out += static_cast<char>(0xF0u | (c >> 18));
        tail(12), tail(6), tail(0);
    }
}

}  // namespace lockstep::data::utf8
