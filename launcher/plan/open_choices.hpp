// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/plan/fit.hpp"
#include "model/devices/dry_model.hpp"
#include "runtime/train/parameters.hpp"

// What the options of a run leave open, so that --fit auto may choose it.
namespace lockstep::launcher::plan {

// Returns what is left to choose from, with what is given where nothing is, for so many ranks that
// read rows. The layers and what is calculated again are not set.
FitChoices open_choices(const RunConfig& config, model::DeviceKind device, int data_ranks,
                        train::Master master);

// Returns the stages that the run may have with its other options.
std::vector<int> possible_stages(const RunConfig& config, int data_ranks, train::Master master);

}  // namespace lockstep::launcher::plan
