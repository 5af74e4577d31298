// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/text/read_options.hpp"

namespace lockstep::data {

// Does an episode end between these two consecutive lines? May say no where one does.
bool episode_ends(TextFormat format, std::string_view line, std::string_view next) noexcept;

}  // namespace lockstep::data
