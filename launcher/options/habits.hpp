// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::launcher {

// What to do here instead of giving an option that ParlAI, or another trainer, has and Lockstep has
// not; empty for any other name. Names have no dashes in front and no underscores.
std::string instead_of_option(std::string_view name);

// The same for a value of an option that Lockstep has: `--model bart`. Empty where none is known.
std::string instead_of_value(std::string_view option, std::string_view value);

// The same for the path of a model: of ParlAI's zoo, or a file that ParlAI wrote.
std::string instead_of_model(const std::string& path);

}  // namespace lockstep::launcher
