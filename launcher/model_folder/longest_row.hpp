// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::launcher {

// Returns how many tokens the model in a folder, Lockstep's or Hugging Face's, reads of a row.
// Nothing: it holds no config.json that says it.
std::optional<std::int64_t> longest_row(const std::string& folder);

}  // namespace lockstep::launcher
