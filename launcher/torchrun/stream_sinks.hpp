// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/torchrun/launch_plan.hpp"

namespace lockstep::launcher {

// Parses torchrun's --redirects and --tee: "3" for all ranks or "0:1,2:3" by local rank. The number
// is the sum of 1 (stdout) and 2 (stderr). A stream in both options is teed.
std::vector<StreamSinks> sinks_of(const std::string& redirects, const std::string& tee, int ranks);

// Applies torchrun's --local-ranks-filter, such as "0,2": the launcher does not show the output of
// the other ranks. A teed stream of theirs becomes `kept`. An empty filter shows all ranks.
void show_only(const std::string& filter, Sink kept, std::vector<StreamSinks>& sinks);

}  // namespace lockstep::launcher
