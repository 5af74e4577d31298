// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/live/rank_states.hpp"
#include "launcher/live/run_state.hpp"
#include "launcher/report/run.hpp"

namespace lockstep::launcher::live {

// Holds what `lockstep top` shows of a run.
struct TopView {
    std::string folder;              // as the user typed it
    std::string now;                 // UTC
    std::optional<report::Run> run;  // empty: it has no line of metrics yet
    RunState state;
    RankStates states;
};

// Reads the folder. Throws a config error when it is no run's.
TopView look_at(const std::string& folder);

// Returns lines of at most `columns` characters. If `rows` is not 0, there are at most so many:
// ranks about which nothing is unusual are left out first.
std::vector<std::string> picture(const TopView& view, std::size_t columns, std::size_t rows);

}  // namespace lockstep::launcher::live
