// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/torchrun/launch_plan.hpp"

namespace lockstep::launcher {

// torchrun's --redirects and --tee: "3" for all ranks or "0:1,2:3" by local rank, the sum of 1
// (stdout) and 2 (stderr). What is in both is teed.
std::vector<StreamSinks> sinks_of(const std::string& redirects, const std::string& tee, int ranks);

// torchrun's --local-ranks-filter, "0,2": what the other ranks write does not come here. Empty: all
// ranks are shown.
void show_only(const std::string& filter, std::vector<StreamSinks>& sinks);

}  // namespace lockstep::launcher
