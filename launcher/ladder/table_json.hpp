// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/ladder/table.hpp"

namespace lockstep::launcher::ladder {

// Returns the values of the table as one JSON document.
std::string table_json(const Subject& subject, const Climb& climb, const Work& work,
                       const std::vector<std::string>& command);

}  // namespace lockstep::launcher::ladder
