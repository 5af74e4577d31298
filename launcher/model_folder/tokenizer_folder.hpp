// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Returns the folder with the tokenizer of a model's folder: of PEFT's adapters that of their base,
// of others the same one. Throws a config error if the adapters or their base cannot be read.
std::string folder_of_tokenizer(const std::string& folder);

}  // namespace lockstep::launcher
