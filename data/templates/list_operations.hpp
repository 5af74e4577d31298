// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "data/templates/arguments.hpp"

namespace lockstep::data::jinja {

// Joins what str() gives of the items.
Value joined_items(Machine& machine, const List& list, const Text& between);

// Follows a path such as "function.name", as the filters `map` and `selectattr` do. A number as
// path is an index.
Value at_path(Machine& machine, const Value& value, const Value& path);

// select, reject, selectattr, rejectattr.
Value selected(Machine& machine, std::string_view filter, const List& list,
               const Arguments& arguments);
// map
Value mapped(Machine& machine, const List& list, const Arguments& arguments);
Value sorted_pairs(Machine& machine, const Dict& dict, const Arguments& arguments);

}  // namespace lockstep::data::jinja
