// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// Returns a name that an object of valid JSON text has twice, as it is written there; empty: there
// is none. nlohmann's parser keeps the last member of a name and does not tell of the others.
std::string repeated_name(std::string_view text);

}  // namespace lockstep
