// SPDX-License-Identifier: Apache-2.0
#include "data/templates/tests.hpp"

#include <array>
#include <optional>

#include "data/templates/operators.hpp"
#include "data/templates/text_operations.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {
namespace {

bool is_bool(const Value& value, std::string_view name) {
    const auto* flag = get<bool>(value);
    return flag != nullptr && (name == "boolean" || *flag == (name == "true"));
}

// Tests without an argument. Returns nothing for other names.
std::optional<bool> of_value(const Value& value, std::string_view name) {
    const bool text = text_in(value) != nullptr, list = list_in(value) != nullptr;
    const bool dict = dict_in(value) != nullptr, undefined = is_undefined(value);
    if (name == "defined") return !undefined;
    if (name == "undefined") return undefined;
    if (name == "none") return get<None>(value) != nullptr;
    if (name == "string") return text;
    if (name == "mapping") return dict;
    if (name == "boolean" || name == "true" || name == "false") return is_bool(value, name);
    if (name == "number") return number_in(value).has_value();
    if (name == "integer") return get<std::int64_t>(value) != nullptr;
    if (name == "float") return get<double>(value) != nullptr;
    if (name == "callable") return undefined || get<FunctionPointer>(value) != nullptr;
    if (name == "iterable")
        return text || list || dict || undefined || get<LoopPointer>(value) != nullptr;
    if (name == "sequence")
        return text || dict || undefined ||
               (list && list_in(value)->kind != List::Kind::iterator &&
                list_in(value)->kind != List::Kind::view);
    return std::nullopt;
}

std::int64_t need_whole(Machine& machine, std::string_view name, const Value& value) {
    const auto whole = whole_in(value);
    if (!whole) machine.fail("the test '" + std::string(name) + "' needs a whole number");
    return *whole;
}

struct Comparison {
    std::string_view name, operation;
};
constexpr std::array<Comparison, 16> comparisons = {{{"==", "=="},
                                                     {"eq", "=="},
                                                     {"equalto", "=="},
                                                     {"!=", "!="},
                                                     {"ne", "!="},
                                                     {"<", "<"},
                                                     {"lt", "<"},
                                                     {"lessthan", "<"},
                                                     {"<=", "<="},
                                                     {"le", "<="},
                                                     {">", ">"},
                                                     {"gt", ">"},
                                                     {"greaterthan", ">"},
                                                     {">=", ">="},
                                                     {"ge", ">="},
                                                     {"in", "in"}}};

bool same_letters(Machine& machine, const Value& value, std::string_view name) {
    const Text* text = text_in(value);
    if (text == nullptr) machine.fail("the test '" + std::string(name) + "' needs a text");
    const Case letters = name == "upper" ? Case::upper : Case::lower;
    const Case other = name == "upper" ? Case::lower : Case::upper;
    return in_case(machine, *text, letters).bytes() == text->bytes() &&
           in_case(machine, *text, other).bytes() != text->bytes();
}

}  // namespace

bool passes_test(Machine& machine, std::string_view name, const Value& value,
                 const Arguments& arguments) {
    const Level level(machine);
    machine.step();
    if (const auto result = of_value(value, name)) {
        const Parameters none(machine, name, arguments, {});
        return *result;
    }
    if (name == "odd" || name == "even") {
        const Parameters none(machine, name, arguments, {});
        return (need_whole(machine, name, value) % 2 != 0) == (name == "odd");
    }
    if (name == "upper" || name == "lower") return same_letters(machine, value, name);
    if (name == "divisibleby") {
        const Parameters given(machine, name, arguments, {"num"});
        const std::int64_t by = given.whole(0, 0);
        if (by == 0) machine.fail("a division by zero");
        return by == -1 || need_whole(machine, name, value) % by == 0;
    }
    for (const Comparison& known : comparisons) {
        if (known.name != name) continue;
        const Parameters given(machine, name, arguments, {"other"});
        return holds(machine, known.operation, value, given.need(0));
    }
    machine.fail("the test '" + shown(name) + "' is unknown or not supported");
}

}  // namespace lockstep::data::jinja
