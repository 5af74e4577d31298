// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// How many letters were left out, added, replaced or exchanged with their neighbour.
std::size_t spelling_distance(std::string_view typed, std::string_view meant);

// The word that was probably meant: the nearest one, if at most a third of the typed letters, and
// at most 3, are wrong. Empty where there is none.
std::string probably_meant(std::string_view typed, const std::vector<std::string>& words);

}  // namespace lockstep::launcher
