// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Returns the word as bash reads it, with quotes only when they are necessary.
std::string shell_word(const std::string& word);

}  // namespace lockstep::launcher
