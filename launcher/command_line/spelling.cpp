// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/spelling.hpp"

#include <algorithm>

namespace lockstep::launcher {

// Calculates the optimal string alignment distance. Three rows of its table are enough.
std::size_t spelling_distance(std::string_view typed, std::string_view meant) {
    std::vector<std::size_t> before(meant.size() + 1), last(meant.size() + 1),
        row(meant.size() + 1);
    for (std::size_t j = 0; j <= meant.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= typed.size(); ++i) {
        before.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= meant.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (typed[i - 1] == meant[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && typed[i - 1] == meant[j - 2] && typed[i - 2] == meant[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[meant.size()];
}

std::string probably_meant(std::string_view typed, const std::vector<std::string>& words) {
    std::size_t nearest = std::min<std::size_t>(3, typed.size() / 3) + 1;
    std::string meant;
    for (const std::string& word : words) {
        // The distance is at least that of the lengths. Without this, a name of a million letters
        // in a file would take seconds.
        if (typed.size() >= word.size() + nearest || word.size() >= typed.size() + nearest)
            continue;
        const std::size_t wrong = spelling_distance(typed, word);
        if (wrong >= nearest) continue;
        nearest = wrong;
        meant = word;
    }
    return meant;
}

}  // namespace lockstep::launcher
