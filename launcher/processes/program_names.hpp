// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace lockstep::launcher {

// Users type a program as `lockstep NAME`, or call a link of that name.
struct ProgramName {
    std::string_view name;
    std::string_view summary;
    std::string_view aliases = "";  // ParlAI's names for it, separated by blanks
};

// Returns all programs in the order of `lockstep help`.
std::span<const ProgramName> program_names();

// Finds a program by its name or an alias. Returns nullptr when there is none.
const ProgramName* find_program_name(std::string_view word);

}  // namespace lockstep::launcher
