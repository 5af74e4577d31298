// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lockstep {

// Parses JSON whose objects keep the order of their members. Returns a discarded value if the text
// is not JSON. A member that is there twice has its first place and its last value. The time is
// linear in the length of the text: nlohmann's own parser compares the name of each member of an
// ordered object with the names of all members before it.
nlohmann::ordered_json try_parse_ordered_json(std::string_view text);

}  // namespace lockstep
