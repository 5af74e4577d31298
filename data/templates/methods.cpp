// SPDX-License-Identifier: Apache-2.0
#include "data/templates/methods.hpp"

#include <algorithm>
#include <array>

#include "data/templates/list_operations.hpp"
#include "data/templates/members.hpp"
#include "data/templates/text_operations.hpp"

namespace lockstep::data::jinja {
namespace {

constexpr std::array<std::string_view, 18> of_text = {
    "split",    "splitlines", "strip", "lstrip",       "rstrip",       "startswith",
    "endswith", "upper",      "lower", "capitalize",   "title",        "replace",
    "join",     "find",       "count", "removeprefix", "removesuffix", "isdigit"};
constexpr std::array<std::string_view, 4> of_dict = {"get", "items", "keys", "values"};

const Text* optional_text(Machine& machine, const Parameters& given, std::size_t place) {
    const Value* value = given.find(place);
    if (value == nullptr || get<None>(*value) != nullptr) return nullptr;
    if (text_in(*value) == nullptr)
        machine.fail("a text is needed, not a value of the type " + type_name(*value));
    return text_in(*value);
}

// `with` may be a tuple of texts.
bool has_at_end(Machine& machine, const Text& text, const Value& with, Side side) {
    const auto has = [&](const Value& value) {
        const Text* part = text_in(value);
        if (part == nullptr)
            machine.fail("startswith() and endswith() need a text or a tuple of texts");
        return side == Side::left ? text.bytes().starts_with(part->bytes())
                                  : text.bytes().ends_with(part->bytes());
    };
    const List* list = list_in(with);
    return list == nullptr ? has(with) : std::ranges::any_of(list->items, has);
}

Value without_end(Machine& machine, const Text& text, const Text& end, Side side) {
    if (side == Side::left && text.bytes().starts_with(end.bytes()))
        return machine.text(text.part(end.size(), text.size()));
    if (side == Side::right && text.bytes().ends_with(end.bytes()))
        return machine.text(text.part(0, text.size() - end.size()));
    return machine.text(text);
}

Value find_in(Machine& machine, const Text& text, const Text& what) {
    machine.work(text.size());
    const std::size_t found = find_text(text.bytes(), what.bytes(), 0);
    if (found == std::string_view::npos) return std::int64_t{-1};
    return length_of(machine, machine.text(text.part(0, found)));
}

Value change_case(Machine& machine, const Text& text, std::string_view name) {
    const Case letters = name == "upper"   ? Case::upper
                         : name == "lower" ? Case::lower
                         : name == "title" ? Case::title
                                           : Case::capitalized;
    return machine.text(in_case(machine, text, letters));
}

bool only_digits(const Text& text) {
    return !text.empty() &&
           std::ranges::all_of(text.bytes(), [](char byte) { return byte >= '0' && byte <= '9'; });
}

Value call_of_text(Machine& machine, std::string_view name, const Text& text,
                   const Arguments& arguments) {
    if (name.ends_with("strip")) {
        const Parameters given(machine, name, arguments, {"chars"});
        const Side side = name == "lstrip"   ? Side::left
                          : name == "rstrip" ? Side::right
                                             : Side::both;
        return machine.text(stripped(machine, text, side, optional_text(machine, given, 0)));
    }
    if (name == "split") {
        const Parameters given(machine, name, arguments, {"sep", "maxsplit"});
        return machine.list(
            split(machine, text, optional_text(machine, given, 0), given.whole(1, -1)));
    }
    if (name == "replace") {
        const Parameters given(machine, name, arguments, {"old", "new", "count"});
        return machine.text(
            replaced(machine, text, given.need_text(0), given.need_text(1), given.whole(2, -1)));
    }
    const bool takes_none = name == "splitlines" || name == "isdigit" || name == "upper" ||
                            name == "lower" || name == "capitalize" || name == "title";
    if (takes_none) {
        const Parameters none(machine, name, arguments, {});
        if (name == "splitlines") return machine.list(lines_of(machine, text));
        if (name == "isdigit") return only_digits(text);
        return change_case(machine, text, name);
    }
    const Parameters given(machine, name, arguments, {"value"});
    if (name == "startswith") return has_at_end(machine, text, given.need(0), Side::left);
    if (name == "endswith") return has_at_end(machine, text, given.need(0), Side::right);
    if (name == "join") return joined_items(machine, *items_of(machine, given.need(0)), text);
    if (name == "find") return find_in(machine, text, given.need_text(0));
    if (name == "count") return count_of(machine, text, given.need_text(0));
    return without_end(machine, text, given.need_text(0),
                       name == "removeprefix" ? Side::left : Side::right);
}

Value call_of_dict(Machine& machine, std::string_view name, const Dict& dict,
                   const Arguments& arguments) {
    if (name == "get") {
        const Parameters given(machine, name, arguments, {"key", "default"});
        const Text* key = text_in(given.need(0));
        const Value* found = key == nullptr ? nullptr : dict.find(key->bytes());
        if (found != nullptr) return *found;
        return given.find(1) == nullptr ? Value(None{}) : *given.find(1);
    }
    const Parameters none(machine, name, arguments, {});
    if (name == "items") return pairs_of(machine, dict, List::Kind::view);
    std::vector<Value> items;
    machine.step(dict.members.size());
    for (const auto& [key, value] : dict.members)
        items.push_back(name == "keys" ? Value(key) : value);
    return machine.list(std::move(items), List::Kind::view);
}

}  // namespace

bool has_method(const Value& value, std::string_view name) {
    if (text_in(value) != nullptr) return std::ranges::find(of_text, name) != of_text.end();
    if (dict_in(value) != nullptr) return std::ranges::find(of_dict, name) != of_dict.end();
    return false;
}

Value call_method(Machine& machine, const Function& method, const Arguments& arguments) {
    const Level level(machine);
    machine.step();
    if (const Text* text = text_in(method.self))
        return call_of_text(machine, method.name, *text, arguments);
    if (const Dict* dict = dict_in(method.self))
        return call_of_dict(machine, method.name, *dict, arguments);
    const Loop& loop = **get<LoopPointer>(method.self);
    if (arguments.positional.empty() || !arguments.named.empty())
        machine.fail("loop.cycle() needs values without names");
    return arguments.positional[loop.index % arguments.positional.size()];
}

}  // namespace lockstep::data::jinja
