// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "data/templates/machine.hpp"

namespace lockstep::data::jinja {

// Returns a value whose texts and names have the marks, but for the usual names of roles. Fails for
// whole numbers of more than 64 bits.
Value value_of(Machine& machine, const nlohmann::ordered_json& json, unsigned marks);

}  // namespace lockstep::data::jinja
