// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::launcher {

// Says what to do instead of giving an option that ParlAI or another trainer has and Lockstep does
// not have. The result is empty for any other name. Names have no leading dashes and no
// underscores.
std::string instead_of_option(std::string_view name);

// Does the same for a value of an option that Lockstep has: `--model bart`. The result is empty
// when the value is not known.
std::string instead_of_value(std::string_view option, std::string_view value);

// Does the same for the path of a model: an entry of ParlAI's zoo, or a file that ParlAI wrote.
std::string instead_of_model(const std::string& path);

}  // namespace lockstep::launcher
