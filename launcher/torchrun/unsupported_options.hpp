// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// Throws a config error when torchrun has an option of this name that has no meaning here; the text
// says what to do instead. The name has inner dashes but no leading ones.
void refuse_option_of_torchrun(const std::string& name);

// Returns the names of these options.
std::vector<std::string_view> unsupported_options();

}  // namespace lockstep::launcher
