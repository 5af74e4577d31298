// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/json_names.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lockstep {
namespace {

// Returns the position of the quotation mark that ends a string, or the length of the text.
std::size_t closing_quote(std::string_view text, std::size_t at) noexcept {
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return std::min(at, text.size());
}

}  // namespace

std::string repeated_name(std::string_view text) {
    std::vector<std::string_view> names;   // of the objects that are open, one after the other
    std::vector<std::size_t> first_names;  // of each of these objects
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '{') first_names.push_back(names.size());
        if (c == '"') {
            const std::size_t begin = at + 1;
            at = closing_quote(text, begin);
            const std::size_t behind = text.find_first_not_of(" \t\r\n", at + 1);
            // Only a name has a colon behind it.
            if (behind != std::string_view::npos && text[behind] == ':')
                names.push_back(text.substr(begin, at - begin));
        }
        if (c != '}' || first_names.empty()) continue;
        const auto first = names.begin() + static_cast<std::ptrdiff_t>(first_names.back());
        std::sort(first, names.end());
        const auto twice = std::adjacent_find(first, names.end());
        if (twice != names.end()) return std::string(*twice);
        names.erase(first, names.end());
        first_names.pop_back();
    }
    return "";
}

}  // namespace lockstep
