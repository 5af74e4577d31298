// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Names the options that only some optimizers read, "moments" for --moments int8 among them. What
// all of them read, and --adafactor-relative-step, are not there.
std::vector<std::string> options_of_some_optimizers();

// Tells whether the optimizer reads an option of that list.
bool reads(train::OptimizerKind kind, std::string_view option);

// Returns the optimizers of which `is_one` is true, as "adam, adamw or muon" with "or" for `last`.
std::string optimizers_text(const std::function<bool(train::OptimizerKind)>& is_one,
                            const std::string& last);

}  // namespace lockstep::launcher
