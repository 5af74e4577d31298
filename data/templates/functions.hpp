// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "data/templates/arguments.hpp"

namespace lockstep::data::jinja {

// Tells whether the name is that of a function which every template has: namespace,
// raise_exception, range, dict, strftime_now.
bool is_global(std::string_view name);

Value call_function(Machine& machine, std::string_view name, const Arguments& arguments,
                    const std::optional<Date>& date);

}  // namespace lockstep::data::jinja
