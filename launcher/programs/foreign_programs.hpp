// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::launcher {

// Says what to do instead of calling a program that ParlAI or a tool for fine-tuning has and
// Lockstep does not have. The result is empty for any other name.
std::string instead_of_program(std::string_view name);

}  // namespace lockstep::launcher
