// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/jinja/nodes.hpp"
#include "data/templates/machine.hpp"

// What Python's operators give. They fail where Python raises an error.
namespace lockstep::data::jinja {

bool equal(Machine& machine, const Value& left, const Value& right);
// Is negative, zero or positive.
int compare(Machine& machine, std::string_view operation, const Value& left, const Value& right);
bool contains(Machine& machine, const Value& in, const Value& what);
// ==, !=, <, <=, >, >=, in, not in.
bool holds(Machine& machine, std::string_view operation, const Value& left, const Value& right);

// Kinds from add to power.
Value calculate(Machine& machine, Expression::Kind kind, const Value& left, const Value& right);
Value negative(Machine& machine, const Value& value);

}  // namespace lockstep::data::jinja
