// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "data/templates/machine.hpp"

namespace lockstep::data::jinja {

// The options of Python's json.dumps, with the defaults that transformers gives them.
struct JsonStyle {
    std::optional<std::string> indent = std::nullopt;  // nothing: all in one line
    std::string between = ", ", behind_name = ": ";
    enum class Letters { as_they_are, ascii } letters = Letters::as_they_are;
    enum class Order { given, sorted } order = Order::given;
};

// Returns the JSON of a value. Fails for a value that JSON cannot have.
Text json_text(Machine& machine, const Value& value, const JsonStyle& style);

}  // namespace lockstep::data::jinja
