// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tests {

// Returns what keeps `page` from being well-formed XML, or "". It knows what these pages have:
// elements that are closed in order, attributes in double quotes, named entities.
inline std::string not_well_formed(std::string_view page) {
    std::vector<std::string> open;
    const std::set<std::string_view> entities{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (std::size_t at = 0; (at = page.find_first_of("<>&", at)) != std::string_view::npos;) {
        if (page[at] == '>') return "a lone >";
        if (page[at] == '&') {
            const std::size_t end = page.find(';', at);
            if (!entities.contains(page.substr(at, end + 1 - at))) return "a lone &";
            at = end + 1;
            continue;
        }
        const std::size_t end = page.find('>', at);
        if (end == std::string_view::npos) return "a tag without its end";
        const std::string_view tag = page.substr(at + 1, end - at - 1);
        at = end + 1;
        if (tag.starts_with('!')) continue;
        if (tag.find('<') != std::string_view::npos) return "< within " + std::string(tag);
        const bool closes = tag.starts_with('/');
        const std::string name(tag.substr(closes, tag.find_first_of(" /\n", closes) - closes));
        if (!closes && !tag.ends_with('/')) open.push_back(name);
        if (!closes) continue;
        if (open.empty() || open.back() != name) return "</" + name + "> out of order";
        open.pop_back();
    }
    return open.empty() ? "" : "<" + open.back() + "> without its end";
}

}  // namespace lockstep::tests
