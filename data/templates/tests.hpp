// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/templates/arguments.hpp"

namespace lockstep::data::jinja {

// value is name(arguments). Fails for a test that is not known.
bool passes_test(Machine& machine, std::string_view name, const Value& value,
                 const Arguments& arguments);

}  // namespace lockstep::data::jinja
