// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/options/run_command.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Returns the shortest command that continues a run on the same ranks: "train -mf DIR", with those
// given options that no checkpoint keeps and that decide how the run computes. For ranks that
// something else starts the text says so.
std::string continuing_command(const std::string& program, Ranks ranks, const RunConfig& config);

}  // namespace lockstep::launcher
