// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Throws a config error where torchrun has an option of this name (with dashes, without the leading
// ones) that cannot mean anything here; the text says what to do instead.
void refuse_option_of_torchrun(const std::string& name);

}  // namespace lockstep::launcher
