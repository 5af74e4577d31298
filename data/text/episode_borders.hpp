// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/text/read_options.hpp"

namespace lockstep::data {

// Returns true if an episode ends between these two consecutive lines. It may return false although
// one does.
bool episode_ends(TextFormat format, std::string_view line, std::string_view next) noexcept;

}  // namespace lockstep::data
