// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/templates/machine.hpp"

namespace lockstep::data::jinja {

// Returns what Python's str() gives. Fails for values whose text tells nothing, such as functions.
Text printed(Machine& machine, const Value& value);

// Returns what Python's repr() gives for a number.
std::string printed_real(double real);

}  // namespace lockstep::data::jinja
