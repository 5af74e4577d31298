// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/templates/machine.hpp"

// Members, items and parts of values, as jinja2 finds them.
namespace lockstep::data::jinja {

// value.name
Value attribute(Machine& machine, const Value& value, std::string_view name);
// value[index]
Value item(Machine& machine, const Value& value, const Value& index);
struct Slice {
    Value begin = None{}, end = None{}, step = None{};
};
Value part(Machine& machine, const Value& value, const Slice& slice);
// What a loop goes over. Fails for values that have no items.
ListPointer items_of(Machine& machine, const Value& value);
std::int64_t length_of(Machine& machine, const Value& value);
// A list of (name, value).
Value pairs_of(Machine& machine, const Dict& dict, List::Kind kind);

}  // namespace lockstep::data::jinja
