// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Throws a config error when torchrun has an option of this name that has no meaning here; the text
// says what to do instead. The name has inner dashes but no leading ones.
void refuse_option_of_torchrun(const std::string& name);

}  // namespace lockstep::launcher
