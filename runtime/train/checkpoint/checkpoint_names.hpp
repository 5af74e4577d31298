// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::train {

// A checkpoint that was found damaged has a name that goes on with this.
inline constexpr std::string_view damaged_mark = ".damaged";

// Returns the folder of a model's checkpoints.
std::string checkpoints_of(const std::string& model_folder);

// Returns "step-00001234". The names sort by step; those of more digits sort by their length.
std::string checkpoint_name(std::int64_t step);
bool is_checkpoint_name(const std::string& name);
// Returns the step of a name; 0 for a number that no run reaches.
std::int64_t step_of(const std::string& name);

// Returns the names in a folder of checkpoints; none if it surely does not exist. Throws
// SystemFailure if it cannot be read.
std::vector<std::string> names_in(const std::string& folder);
// Returns those that are names of checkpoints, newest first.
std::vector<std::string> checkpoints_among(const std::vector<std::string>& names);

}  // namespace lockstep::train
