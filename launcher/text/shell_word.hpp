// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// A word as bash reads it back, quoted only where it must be.
std::string shell_word(const std::string& word);

}  // namespace lockstep::launcher
