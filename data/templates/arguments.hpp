// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "data/templates/machine.hpp"

namespace lockstep::data::jinja {

// The arguments of a call, a filter or a test.
struct Arguments {
    std::vector<Value> positional = {};
    std::vector<std::pair<std::string_view, Value>> named = {};
};

// Gives a function's arguments by the places and names of its parameters.
class Parameters {
public:
    // Fails if there are more arguments, others, or one twice.
    Parameters(Machine& machine, std::string_view function, const Arguments& arguments,
               std::initializer_list<std::string_view> names);

    // Returns nullptr if it is not given.
    const Value* find(std::size_t place) const noexcept { return values_[place]; }
    // Fails if it is not given.
    const Value& need(std::size_t place) const;
    // Fails if it is another type.
    const Text& need_text(std::size_t place) const;
    std::int64_t whole(std::size_t place, std::int64_t otherwise) const;
    bool flag(std::size_t place) const {
        return values_[place] != nullptr && truth(*values_[place]);
    }

private:
    Machine& machine_;
    std::string_view function_;
    std::vector<std::string_view> names_;
    std::vector<const Value*> values_;
};

}  // namespace lockstep::data::jinja
