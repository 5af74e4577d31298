// SPDX-License-Identifier: Apache-2.0
#include "data/templates/list_operations.hpp"

#include <algorithm>

#include "data/jinja/characters.hpp"
#include "data/templates/filters.hpp"
#include "data/templates/members.hpp"
#include "data/templates/operators.hpp"
#include "data/templates/printing.hpp"
#include "data/templates/tests.hpp"
#include "data/templates/text_operations.hpp"

namespace lockstep::data::jinja {
namespace {

// The key by which texts are sorted without regard to letter case.
Value folded(Machine& machine, const Value& value) {
    const Text* text = text_in(value);
    return text == nullptr ? value : machine.text(in_case(machine, *text, Case::lower));
}

// Removes the first arguments.
Arguments rest_of(const Arguments& arguments, std::size_t taken) {
    Arguments rest = arguments;
    const auto count = std::min(taken, rest.positional.size());
    rest.positional.erase(rest.positional.begin(),
                          rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
    return rest;
}

const Value& first_of(Machine& machine, std::string_view filter, const Arguments& arguments) {
    if (arguments.positional.empty())
        machine.fail(std::string(filter) + "() lacks its first argument");
    return arguments.positional.front();
}

}  // namespace

Value joined_items(Machine& machine, const List& list, const Text& between) {
    Text out;
    for (const Value& item : list.items) {
        machine.step();
        if (&item != list.items.data()) machine.append(out, between);
        machine.append(out, printed(machine, item));
    }
    return machine.text(std::move(out));
}

Value at_path(Machine& machine, const Value& value, const Value& path) {
    const Text* text = text_in(path);
    if (text == nullptr) return item(machine, value, path);
    Value at = value;
    std::string_view rest = text->bytes();
    for (;;) {
        const std::size_t end = rest.find('.');
        const std::string_view name = rest.substr(0, end);
        const bool number = !name.empty() && name.size() < 10 &&
                            std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
        machine.step();
        at = item(machine, at,
                  number ? Value(std::int64_t{std::stoll(std::string(name))})
                         : machine.text(std::string(name)));
        if (end == std::string_view::npos) return at;
        rest.remove_prefix(end + 1);
    }
}

Value selected(Machine& machine, std::string_view filter, const List& list,
               const Arguments& arguments) {
    const bool by_member = filter.ends_with("attr"), wanted = filter.starts_with("select");
    const Arguments of_test = rest_of(arguments, by_member ? 1 : 0);
    const Value path = by_member ? first_of(machine, filter, arguments) : Value(None{});
    std::vector<Value> items;
    for (const Value& item : list.items) {
        machine.step();
        const Value value = by_member ? at_path(machine, item, path) : item;
        bool holds = truth(value);
        if (!of_test.positional.empty()) {
            const Text* test = text_in(of_test.positional.front());
            if (test == nullptr) machine.fail(std::string(filter) + "() needs the name of a test");
            holds = passes_test(machine, test->bytes(), value, rest_of(of_test, 1));
        }
        if (holds == wanted) items.push_back(item);
    }
    return machine.list(std::move(items), List::Kind::iterator);
}

Value mapped(Machine& machine, const List& list, const Arguments& arguments) {
    std::vector<Value> items;
    if (arguments.positional.empty()) {
        const Parameters given(machine, "map", arguments, {"attribute", "default"});
        for (const Value& item : list.items) {
            machine.step();
            Value value = at_path(machine, item, given.need(0));
            if (is_undefined(value) && given.find(1) != nullptr) value = *given.find(1);
            items.push_back(std::move(value));
        }
        return machine.list(std::move(items), List::Kind::iterator);
    }
    const Text* filter = text_in(first_of(machine, "map", arguments));
    if (filter == nullptr) machine.fail("map() needs the name of a filter");
    const Arguments rest = rest_of(arguments, 1);
    for (const Value& item : list.items)
        items.push_back(apply_filter(machine, filter->bytes(), item, rest));
    return machine.list(std::move(items), List::Kind::iterator);
}

Value sorted_pairs(Machine& machine, const Dict& dict, const Arguments& arguments) {
    const Parameters given(machine, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
    const bool by_value = given.find(1) != nullptr && given.need_text(1).bytes() == "value";
    if (given.find(1) != nullptr && !by_value && given.need_text(1).bytes() != "key")
        machine.fail("dictsort() sorts by 'key' or by 'value'");
    struct Entry {
        Value key, pair;
    };
    std::vector<Entry> entries;
    for (const auto& [name, value] : dict.members) {
        const Value key = by_value ? value : Value(name);
        entries.push_back({given.flag(0) ? key : folded(machine, key),
                           machine.list({name, value}, List::Kind::tuple)});
    }
    std::ranges::stable_sort(entries, [&](const Entry& a, const Entry& b) {
        return given.flag(2) ? compare(machine, "<", b.key, a.key) < 0
                             : compare(machine, "<", a.key, b.key) < 0;
    });
    std::vector<Value> pairs;
    for (Entry& entry : entries) pairs.push_back(std::move(entry.pair));
    return machine.list(std::move(pairs));
}

}  // namespace lockstep::data::jinja
