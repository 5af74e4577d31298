// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/live/rank_states.hpp"

namespace lockstep::launcher::live {

// Returns a table of the ranks as HTML, below `label` if it is not empty. It is empty if nothing is
// known of the ranks.
std::string ranks_table(const std::string& label, const RankStates& states);

// Returns how much longer the rank works than the median one: "+25%". Empty: not known.
std::string excess_text(const RankState& rank);

}  // namespace lockstep::launcher::live
