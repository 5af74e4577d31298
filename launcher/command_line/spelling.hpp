// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// Counts the letters that were left out, added, replaced or exchanged with their neighbour.
std::size_t spelling_distance(std::string_view typed, std::string_view meant);

// Returns the word that was probably meant: the nearest one, if at most a third of the typed
// letters, and at most 3, are wrong. Otherwise the result is empty.
std::string probably_meant(std::string_view typed, const std::vector<std::string>& words);

}  // namespace lockstep::launcher
