// SPDX-License-Identifier: Apache-2.0
#include "data/templates/members.hpp"

#include <algorithm>

#include "data/jinja/characters.hpp"
#include "data/templates/methods.hpp"
#include "data/templates/text_operations.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {
namespace {

Value missing(Machine& machine, const Value& value, const std::string& name) {
    return machine.undefined("a value of the type " + type_name(value) + " has no member '" +
                             shown(name) + "'");
}

Value loop_member(Machine& machine, const Loop& loop, const Value& value, std::string_view name) {
    const auto index = static_cast<std::int64_t>(loop.index);
    const auto length = static_cast<std::int64_t>(loop.items->items.size());
    if (name == "index") return index + 1;
    if (name == "index0") return index;
    if (name == "revindex") return length - index;
    if (name == "revindex0") return length - index - 1;
    if (name == "length") return length;
    if (name == "first") return index == 0;
    if (name == "last") return index + 1 == length;
    if (name == "depth") return std::int64_t{1};  // only recursive loops are deeper
    if (name == "depth0") return std::int64_t{0};
    if (name == "previtem" && index > 0) return loop.items->items[loop.index - 1];
    if (name == "nextitem" && index + 1 < length) return loop.items->items[loop.index + 1];
    if (name == "cycle") return machine.method(name, value);
    return missing(machine, value, std::string(name));
}

// Returns nothing if the value has no such member.
std::optional<Value> named_item(const Value& value, std::string_view name) {
    const Value* found = nullptr;
    if (const Dict* dict = dict_in(value)) found = dict->find(name);
    if (const auto* space = get<Namespace*>(value)) found = (*space)->find(name);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
}

void need_defined(Machine& machine, const Value& value) {
    if (const auto* undefined = get<Undefined>(value))
        machine.fail(undefined->why ? *undefined->why : "a value is undefined");
}

// Returns what the index is in a sequence of so many items; nothing: beyond them.
std::optional<std::size_t> place_of(std::int64_t index, std::size_t count) {
    const auto size = static_cast<std::int64_t>(count);
    if (index < 0) index += size;
    if (index < 0 || index >= size) return std::nullopt;
    return static_cast<std::size_t>(index);
}

// Begin, end and step of a slice of so many items, as Python's slice.indices().
struct Range {
    std::int64_t begin = 0, end = 0, step = 1;
};
Range range_of(Machine& machine, const Slice& slice, std::int64_t count) {
    const auto whole = [&](const Value& value, std::int64_t otherwise) {
        if (get<None>(value) != nullptr) return otherwise;
        const auto given = whole_in(value);
        if (!given) machine.fail("a slice needs whole numbers, not " + type_name(value));
        return *given;
    };
    Range range;
    range.step = whole(slice.step, 1);
    if (range.step == 0) machine.fail("the step of a slice cannot be 0");
    const bool back = range.step < 0;
    const auto bounded = [&](std::int64_t index) {
        if (index < 0) index = index < -count ? -1 : index + count;
        return back ? std::clamp<std::int64_t>(index, -1, count - 1)
                    : std::clamp<std::int64_t>(index, 0, count);
    };
    range.begin =
        get<None>(slice.begin) != nullptr ? (back ? count - 1 : 0) : bounded(whole(slice.begin, 0));
    range.end =
        get<None>(slice.end) != nullptr ? (back ? -1 : count) : bounded(whole(slice.end, 0));
    range.step = std::clamp<std::int64_t>(range.step, -count - 1, count + 1);
    return range;
}

// Returns the place of the character with this number, or the text's end.
std::size_t offset_of(std::string_view text, std::size_t number) {
    std::size_t at = 0;
    while (number-- > 0 && at < text.size()) at += character_bytes(text.substr(at));
    return at;
}

Value character_of(Machine& machine, const Text& text, std::size_t number) {
    const std::size_t begin = offset_of(text.bytes(), number);
    const std::string_view rest = std::string_view(text.bytes()).substr(begin);
    return machine.text(text.part(begin, begin + character_bytes(rest)));
}

Value part_of_text(Machine& machine, const Text& text, const Slice& slice) {
    machine.work(text.size());
    const auto count = static_cast<std::int64_t>(count_characters(text.bytes()));
    const Range range = range_of(machine, slice, count);
    if (range.step == 1 && range.begin < range.end) {
        const std::size_t begin = offset_of(text.bytes(), static_cast<std::size_t>(range.begin));
        const auto rest = std::string_view(text.bytes()).substr(begin);
        const auto characters = static_cast<std::size_t>(range.end - range.begin);
        return machine.text(text.part(begin, begin + offset_of(rest, characters)));
    }
    Text out;
    const std::vector<Value> all = characters_of(machine, text);
    for (std::int64_t i = range.begin; range.step > 0 ? i < range.end : i > range.end;
         i += range.step)
        machine.append(out, *text_in(all[static_cast<std::size_t>(i)]));
    return machine.text(std::move(out));
}

}  // namespace

Value attribute(Machine& machine, const Value& value, std::string_view name) {
    need_defined(machine, value);
    if (const auto* loop = get<LoopPointer>(value))
        return loop_member(machine, **loop, value, name);
    if (has_method(value, name)) return machine.method(name, value);
    if (const auto found = named_item(value, name)) return *found;
    return missing(machine, value, std::string(name));
}

Value item(Machine& machine, const Value& value, const Value& index) {
    need_defined(machine, value);
    if (const Text* name = text_in(index)) {
        if (const auto found = named_item(value, name->bytes())) return *found;
        return attribute(machine, value, name->bytes());
    }
    const auto whole = whole_in(index);
    if (const List* list = list_in(value); list != nullptr && whole) {
        const auto place = place_of(*whole, list->items.size());
        if (place) return list->items[*place];
    }
    if (const Text* text = text_in(value); text != nullptr && whole) {
        machine.work(text->size());
        const auto place = place_of(*whole, count_characters(text->bytes()));
        if (place) return character_of(machine, *text, *place);
    }
    return missing(machine, value,
                   whole ? std::to_string(*whole) : "of the type " + type_name(index));
}

Value part(Machine& machine, const Value& value, const Slice& slice) {
    need_defined(machine, value);
    if (const Text* text = text_in(value)) return part_of_text(machine, *text, slice);
    const List* list = list_in(value);
    if (list == nullptr) machine.fail("a value of the type " + type_name(value) + " has no slices");
    const Range range = range_of(machine, slice, static_cast<std::int64_t>(list->items.size()));
    std::vector<Value> items;
    for (std::int64_t i = range.begin; range.step > 0 ? i < range.end : i > range.end;
         i += range.step) {
        machine.step();
        items.push_back(list->items[static_cast<std::size_t>(i)]);
    }
    return machine.list(std::move(items), list->kind);
}

ListPointer items_of(Machine& machine, const Value& value) {
    if (const auto* list = get<ListPointer>(value)) return *list;
    std::vector<Value> items;
    if (const Dict* dict = dict_in(value)) {
        for (const auto& member : dict->members) items.emplace_back(member.first);
    } else if (const Text* text = text_in(value)) {
        items = characters_of(machine, *text);
    } else if (!is_undefined(value)) {
        machine.fail("a value of the type " + type_name(value) + " has no items");
    }
    const Value list = machine.list(std::move(items));
    return *std::get_if<ListPointer>(&list);
}

std::int64_t length_of(Machine& machine, const Value& value) {
    if (is_undefined(value)) return 0;
    if (const Dict* dict = dict_in(value)) return static_cast<std::int64_t>(dict->members.size());
    if (const Text* text = text_in(value)) {
        machine.work(text->size());
        return static_cast<std::int64_t>(count_characters(text->bytes()));
    }
    const List* list = list_in(value);
    if (list == nullptr || list->kind == List::Kind::iterator)
        machine.fail("a value of the type " + type_name(value) + " has no length");
    return static_cast<std::int64_t>(list->items.size());
}

Value pairs_of(Machine& machine, const Dict& dict, List::Kind kind) {
    std::vector<Value> pairs;
    machine.step(dict.members.size());
    for (const auto& [name, value] : dict.members)
        pairs.push_back(machine.list({name, value}, List::Kind::tuple));
    return machine.list(std::move(pairs), kind);
}

}  // namespace lockstep::data::jinja
