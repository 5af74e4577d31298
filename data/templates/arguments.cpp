// SPDX-License-Identifier: Apache-2.0
#include "data/templates/arguments.hpp"

#include <algorithm>

#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {

Parameters::Parameters(Machine& machine, std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names)
    : machine_(machine), function_(function), names_(names), values_(names.size(), nullptr) {
    const std::string of = std::string(function) + "()";
    if (arguments.positional.size() > names.size())
        machine.fail(of + " takes at most " + std::to_string(names.size()) + " arguments");
    for (std::size_t i = 0; i < arguments.positional.size(); ++i)
        values_[i] = &arguments.positional[i];
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::ranges::find(names_, name);
        if (found == names_.end()) machine.fail(of + " has no argument '" + shown(name) + "'");
        const Value*& place = values_[static_cast<std::size_t>(found - names_.begin())];
        if (place != nullptr) machine.fail(of + " has the argument '" + shown(name) + "' twice");
        place = &value;
    }
}

const Value& Parameters::need(std::size_t place) const {
    if (values_[place] == nullptr)
        machine_.fail(std::string(function_) + "() lacks its argument '" +
                      std::string(names_[place]) + "'");
    return *values_[place];
}

const Text& Parameters::need_text(std::size_t place) const {
    const Text* text = text_in(need(place));
    if (text == nullptr)
        machine_.fail(std::string(function_) + "() needs a text, but '" +
                      std::string(names_[place]) + "' is of the type " +
                      type_name(*values_[place]));
    return *text;
}

std::int64_t Parameters::whole(std::size_t place, std::int64_t otherwise) const {
    if (values_[place] == nullptr) return otherwise;
    const auto whole = whole_in(*values_[place]);
    if (!whole)
        machine_.fail(std::string(function_) + "() needs a whole number, but '" +
                      std::string(names_[place]) + "' is of the type " +
                      type_name(*values_[place]));
    return *whole;
}

}  // namespace lockstep::data::jinja
