// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/templates/machine.hpp"

// What Python's str can do. Marks stay with their bytes.
namespace lockstep::data::jinja {

// Takes time that grows with the length only. Returns npos if it is not there.
std::size_t find_text(std::string_view all, std::string_view what, std::size_t from) noexcept;

enum class Side { left, right, both };
// Takes characters of the set off the ends; without a set, white space.
Text stripped(Machine& machine, const Text& text, Side side, const Text* set);
// Without a separator, splits at white space. A negative number means no limit.
std::vector<Value> split(Machine& machine, const Text& text, const Text* separator,
                         std::int64_t most);
std::vector<Value> lines_of(Machine& machine, const Text& text);
std::vector<Value> characters_of(Machine& machine, const Text& text);
Text replaced(Machine& machine, const Text& text, const Text& old, const Text& by,
              std::int64_t most);
std::int64_t count_of(Machine& machine, const Text& text, const Text& what);

enum class Case { lower, upper, capitalized, title };
// Fails for upper-case letters of texts that are not ASCII.
Text in_case(Machine& machine, const Text& text, Case letters);

}  // namespace lockstep::data::jinja
