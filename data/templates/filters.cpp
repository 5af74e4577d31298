// SPDX-License-Identifier: Apache-2.0
#include "data/templates/filters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "data/templates/json_writing.hpp"
#include "data/templates/list_operations.hpp"
#include "data/templates/members.hpp"
#include "data/templates/operators.hpp"
#include "data/templates/printing.hpp"
#include "data/templates/text_operations.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {
namespace {

using Filter = Value (*)(Machine&, const Value&, const Arguments&);

Value trim(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters given(machine, "trim", arguments, {"chars"});
    const Text* set = given.find(0) == nullptr || get<None>(*given.find(0)) != nullptr
                          ? nullptr
                          : &given.need_text(0);
    return machine.text(stripped(machine, printed(machine, value), Side::both, set));
}

Value length(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "length", arguments, {});
    return length_of(machine, value);
}

Value string(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "string", arguments, {});
    return machine.text(printed(machine, value));
}

Value otherwise(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters given(machine, "default", arguments, {"default_value", "boolean"});
    const bool missing = is_undefined(value) || (given.flag(1) && !truth(value));
    if (!missing) return value;
    return given.find(0) == nullptr ? machine.text("") : *given.find(0);
}

Value items(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "items", arguments, {});
    if (is_undefined(value)) return machine.list({}, List::Kind::iterator);
    const Dict* dict = dict_in(value);
    if (dict == nullptr)
        machine.fail("items needs a dict, not a value of the type " + type_name(value));
    return pairs_of(machine, *dict, List::Kind::iterator);
}

Value join(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters given(machine, "join", arguments, {"d", "attribute"});
    const Text between = given.find(0) == nullptr ? Text() : printed(machine, *given.find(0));
    const ListPointer list = items_of(machine, value);
    if (given.find(1) == nullptr) return joined_items(machine, *list, between);
    List members;
    for (const Value& item : list->items)
        members.items.push_back(at_path(machine, item, *given.find(1)));
    return joined_items(machine, members, between);
}

Value dictsort(Machine& machine, const Value& value, const Arguments& arguments) {
    const Dict* dict = dict_in(value);
    if (dict == nullptr)
        machine.fail("dictsort needs a dict, not a value of the type " + type_name(value));
    return sorted_pairs(machine, *dict, arguments);
}

template <Case letters>
Value case_of(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "a filter of letter case", arguments, {});
    return machine.text(in_case(machine, printed(machine, value), letters));
}

Value list(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "list", arguments, {});
    return machine.list(items_of(machine, value)->items);
}

Value map(Machine& machine, const Value& value, const Arguments& arguments) {
    return mapped(machine, *items_of(machine, value), arguments);
}

Value replace(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters given(machine, "replace", arguments, {"old", "new", "count"});
    const bool no_count = given.find(2) == nullptr || get<None>(*given.find(2)) != nullptr;
    return machine.text(replaced(machine, printed(machine, value), printed(machine, given.need(0)),
                                 printed(machine, given.need(1)),
                                 no_count ? -1 : given.whole(2, -1)));
}

template <const char* name>
Value select(Machine& machine, const Value& value, const Arguments& arguments) {
    return selected(machine, name, *items_of(machine, value), arguments);
}
constexpr char selectattr[] = "selectattr", rejectattr[] = "rejectattr", select_[] = "select",
               reject[] = "reject";

JsonStyle style_of(Machine& machine, const Parameters& given) {
    constexpr std::int64_t widest = 64;
    JsonStyle style;
    if (given.flag(0)) style.letters = JsonStyle::Letters::ascii;
    const Value* indent = given.find(1);
    if (indent != nullptr && get<None>(*indent) == nullptr) {
        if (const Text* text = text_in(*indent))
            style.indent = text->bytes();
        else
            style.indent = std::string(
                static_cast<std::size_t>(std::clamp<std::int64_t>(given.whole(1, 0), 0, widest)),
                ' ');
        style.between = ",";
    }
    if (const Value* separators = given.find(2); separators != nullptr && truth(*separators)) {
        const List* both = list_in(*separators);
        const bool fits = both != nullptr && both->items.size() == 2 &&
                          text_in(both->items[0]) != nullptr && text_in(both->items[1]) != nullptr;
        if (!fits) machine.fail("tojson() needs two texts as 'separators'");
        style.between = text_in(both->items[0])->bytes();
        style.behind_name = text_in(both->items[1])->bytes();
    }
    if (given.flag(3)) style.order = JsonStyle::Order::sorted;
    return style;
}

Value tojson(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters given(machine, "tojson", arguments,
                           {"ensure_ascii", "indent", "separators", "sort_keys"});
    return machine.text(json_text(machine, value, style_of(machine, given)));
}

Value first(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "first", arguments, {});
    const ListPointer all = items_of(machine, value);
    if (all->items.empty()) return machine.undefined("No first item, sequence was empty.");
    return all->items.front();
}

Value last(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "last", arguments, {});
    const ListPointer all = items_of(machine, value);
    if (all->items.empty()) return machine.undefined("No last item, sequence was empty.");
    return all->items.back();
}

Value reverse(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "reverse", arguments, {});
    if (const Text* text = text_in(value)) {
        std::vector<Value> characters = characters_of(machine, *text);
        std::ranges::reverse(characters);
        return joined_items(machine, *list_in(machine.list(std::move(characters))), Text());
    }
    std::vector<Value> all = items_of(machine, value)->items;
    std::ranges::reverse(all);
    return machine.list(std::move(all), List::Kind::iterator);
}

Value absolute(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters none(machine, "abs", arguments, {});
    if (!number_in(value))
        machine.fail("abs needs a number, not a value of the type " + type_name(value));
    return std::signbit(*number_in(value)) ? negative(machine, value) : value;
}

// Takes the whole number at the beginning of a text.
Value whole(Machine& machine, const Value& value, const Arguments& arguments) {
    const Parameters given(machine, "int", arguments, {"default"});
    if (const auto found = whole_in(value)) return *found;
    if (const auto* real = get<double>(value); real != nullptr && std::abs(*real) < 9e18)
        return static_cast<std::int64_t>(*real);
    if (const Text* text = text_in(value)) {
        const Text digits = stripped(machine, *text, Side::both, nullptr);
        std::int64_t number = 0;
        const char* end = digits.bytes().data() + digits.size();
        const auto read = std::from_chars(digits.bytes().data(), end, number);
        if (read.ec == std::errc() && read.ptr == end) return number;
    }
    return given.whole(0, 0);
}

struct NamedFilter {
    std::string_view name;
    Filter filter;
};

constexpr std::array<NamedFilter, 27> filters = {{{"trim", trim},
                                                  {"length", length},
                                                  {"count", length},
                                                  {"string", string},
                                                  {"safe", string},
                                                  {"default", otherwise},
                                                  {"d", otherwise},
                                                  {"items", items},
                                                  {"join", join},
                                                  {"dictsort", dictsort},
                                                  {"upper", case_of<Case::upper>},
                                                  {"lower", case_of<Case::lower>},
                                                  {"capitalize", case_of<Case::capitalized>},
                                                  {"title", case_of<Case::title>},
                                                  {"list", list},
                                                  {"map", map},
                                                  {"replace", replace},
                                                  {"selectattr", select<selectattr>},
                                                  {"rejectattr", select<rejectattr>},
                                                  {"select", select<select_>},
                                                  {"reject", select<reject>},
                                                  {"tojson", tojson},
                                                  {"first", first},
                                                  {"last", last},
                                                  {"reverse", reverse},
                                                  {"abs", absolute},
                                                  {"int", whole}}};

}  // namespace

Value apply_filter(Machine& machine, std::string_view name, const Value& value,
                   const Arguments& arguments) {
    const Level level(machine);
    machine.step();
    for (const NamedFilter& known : filters)
        if (known.name == name) return known.filter(machine, value, arguments);
    machine.fail("the filter '" + shown(name) + "' is unknown or not supported");
}

}  // namespace lockstep::data::jinja
