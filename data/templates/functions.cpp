// SPDX-License-Identifier: Apache-2.0
#include "data/templates/functions.hpp"

#include <algorithm>
#include <array>

#include "data/templates/date_text.hpp"
#include "data/templates/printing.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {
namespace {

constexpr std::array<std::string_view, 5> globals = {"namespace", "raise_exception", "range",
                                                     "dict", "strftime_now"};

Value new_namespace(Machine& machine, const Arguments& arguments) {
    Namespace* made = machine.new_namespace();
    if (arguments.positional.size() > 1)
        machine.fail("namespace() takes one argument without a name");
    for (const Value& value : arguments.positional) {
        const Dict* dict = dict_in(value);
        if (dict == nullptr) machine.fail("namespace() takes a dict, or values with names");
        for (const auto& [name, member] : dict->members) made->set(name->bytes(), member);
    }
    for (const auto& [name, value] : arguments.named) made->set(name, value);
    return made;
}

Value new_dict(Machine& machine, const Arguments& arguments) {
    auto made = std::make_shared<Dict>();
    if (arguments.positional.size() > 1) machine.fail("dict() takes one argument without a name");
    for (const Value& value : arguments.positional) {
        const Dict* dict = dict_in(value);
        if (dict == nullptr) machine.fail("dict() takes a dict, or values with names");
        for (const auto& [name, member] : dict->members) made->set(name, member);
    }
    for (const auto& [name, value] : arguments.named)
        made->set(std::make_shared<const Text>(std::string(name)), value);
    return machine.dict(std::move(made));
}

Value range(Machine& machine, const Arguments& arguments) {
    const Parameters given(machine, "range", arguments, {"start", "stop", "step"});
    given.need(0);
    const bool one = given.find(1) == nullptr;
    const std::int64_t begin = one ? 0 : given.whole(0, 0);
    const std::int64_t end = given.whole(one ? 0 : 1, 0), step = given.whole(2, 1);
    if (step == 0) machine.fail("the step of range() cannot be 0");
    std::vector<Value> numbers;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
        machine.step();
        numbers.emplace_back(i);
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    return machine.list(std::move(numbers), List::Kind::view);
}

[[noreturn]] void raise(Machine& machine, const Arguments& arguments) {
    const Parameters given(machine, "raise_exception", arguments, {"message"});
    machine.fail(shown_message(printable(printed(machine, given.need(0)).bytes())));
}

}  // namespace

bool is_global(std::string_view name) { return std::ranges::find(globals, name) != globals.end(); }

Value call_function(Machine& machine, std::string_view name, const Arguments& arguments,
                    const std::optional<Date>& date) {
    const Level level(machine);
    machine.step();
    if (name == "namespace") return new_namespace(machine, arguments);
    if (name == "dict") return new_dict(machine, arguments);
    if (name == "range") return range(machine, arguments);
    if (name == "raise_exception") raise(machine, arguments);
    const Parameters given(machine, name, arguments, {"format"});
    return machine.text(date_text(machine, *date, given.need_text(0).bytes()));
}

}  // namespace lockstep::data::jinja
