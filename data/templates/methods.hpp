// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/templates/arguments.hpp"

namespace lockstep::data::jinja {

// Tells whether values of this type have the method. A method of Python's that would change the
// value is none, as in jinja2's sandbox.
bool has_method(const Value& value, std::string_view name);

Value call_method(Machine& machine, const Function& method, const Arguments& arguments);

}  // namespace lockstep::data::jinja
