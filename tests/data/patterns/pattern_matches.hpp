// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/patterns/split_pattern.hpp"

namespace lockstep::tests {

// The begins and ends of all matches that are not empty, one after the other. An empty match at the
// end of the one before is passed over by a character, as the iterator of Oniguruma does.
inline std::vector<std::size_t> matches_of(const data::SplitPattern& pattern,
                                           std::string_view text) {
    std::vector<std::size_t> found;
    std::size_t at = 0, last_end = std::string_view::npos;
    while (at <= text.size()) {
        const data::PatternMatch match = pattern.next(text, at);
        if (match.begin == std::string_view::npos) break;
        if (match.begin == match.end && match.end == last_end) {
            do ++at;
            while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u);
            continue;
        }
        if (match.begin != match.end) {
            found.push_back(match.begin);
            found.push_back(match.end);
        }
        at = last_end = match.end;
    }
    return found;
}

}  // namespace lockstep::tests
