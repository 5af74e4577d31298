// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launcher/live/rank_states.hpp"
#include "launcher/report/run.hpp"

namespace lockstep::launcher::live {

// silent: the run has neither come to an end nor said why it does not go on.
enum class Going { on, failed, ended, stopped, silent };

struct RunState {
    Going going = Going::silent;
    std::string text;  // one line
};

// Returns whether the run goes on, from its files and from its lock, whose process can be asked for
// on the host that trains.
RunState state_of(const report::Run& run);
// Does so for a run without a line of metrics; `why` says what is missing.
RunState state_without_lines(const std::string& folder, const std::string& why);

// Returns the done share of the run and the time that is left at the mean speed so far. Empty: the
// run has no limit, or none is known.
struct Reached {
    double share = 0, left_s = 0;
};
std::optional<Reached> reached(const report::Run& run, const RankStates& states);

}  // namespace lockstep::launcher::live
