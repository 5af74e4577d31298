// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "launcher/options/prepare_options.hpp"

namespace lockstep::launcher {

// Throws a config error when one of the `given` options does not apply to this format or tokenizer.
void check_prepare(const PrepareConfig& config, const std::set<std::string>& given);

}  // namespace lockstep::launcher
