// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/shell_word.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace lockstep::launcher {

std::string shell_word(const std::string& word) {
    constexpr std::string_view harmless = "@%+=:,./_-";
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char c) {
        return std::isalnum(c) || harmless.find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) return word;
    std::string quoted = "'";
    for (const char c : word) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted + "'";
}

}  // namespace lockstep::launcher
