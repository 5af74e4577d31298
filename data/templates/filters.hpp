// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/templates/arguments.hpp"

namespace lockstep::data::jinja {

// value | name(arguments). Fails for a filter that is not known.
Value apply_filter(Machine& machine, std::string_view name, const Value& value,
                   const Arguments& arguments);

}  // namespace lockstep::data::jinja
