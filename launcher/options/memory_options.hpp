// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "model/recompute.hpp"

namespace lockstep::launcher {

// Reads a value of --recompute; the result is empty for auto. Throws a config error for any other
// word.
std::optional<model::RecomputePlan> parse_recompute(const std::string& word);

}  // namespace lockstep::launcher
