// SPDX-License-Identifier: Apache-2.0
#include "data/templates/operators.hpp"

#include <algorithm>

#include "data/templates/text_operations.hpp"

namespace lockstep::data::jinja {
namespace {

bool equal_dicts(Machine& machine, const Dict& left, const Dict& right) {
    if (left.members.size() != right.members.size()) return false;
    return std::ranges::all_of(left.members, [&](const auto& member) {
        const Value* other = right.find(member.first->bytes());
        return other != nullptr && equal(machine, member.second, *other);
    });
}

bool equal_lists(Machine& machine, const List& left, const List& right) {
    if (left.kind != right.kind || left.items.size() != right.items.size()) return false;
    for (std::size_t i = 0; i < left.items.size(); ++i)
        if (!equal(machine, left.items[i], right.items[i])) return false;
    return true;
}

// Numbers, both of which are whole or one of which is not.
int compare_numbers(const Value& left, const Value& right) {
    const auto a = whole_in(left), b = whole_in(right);
    if (a && b) return *a < *b ? -1 : *a > *b ? 1 : 0;
    const double x = *number_in(left), y = *number_in(right);
    return x < y ? -1 : x > y ? 1 : 0;
}

int sign_of(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

}  // namespace

bool equal(Machine& machine, const Value& left, const Value& right) {
    const Level level(machine);
    machine.step();
    if (is_undefined(left) || is_undefined(right)) return is_undefined(left) && is_undefined(right);
    if (number_in(left) && number_in(right))
        return whole_in(left) && whole_in(right) ? *whole_in(left) == *whole_in(right)
                                                 : *number_in(left) == *number_in(right);
    if (left.index() != right.index()) return false;
    if (const Text* text = text_in(left)) {
        machine.work(text->size());
        return text->bytes() == text_in(right)->bytes();
    }
    if (const Dict* dict = dict_in(left)) return equal_dicts(machine, *dict, *dict_in(right));
    if (const List* list = list_in(left)) return equal_lists(machine, *list, *list_in(right));
    if (const auto* space = get<Namespace*>(left)) return *space == *get<Namespace*>(right);
    if (const auto* loop = get<LoopPointer>(left)) return *loop == *get<LoopPointer>(right);
    if (const auto* function = get<FunctionPointer>(left))
        return *function == *get<FunctionPointer>(right);
    return true;  // none
}

int compare(Machine& machine, std::string_view operation, const Value& left, const Value& right) {
    const Level level(machine);
    machine.step();
    if (number_in(left) && number_in(right)) return compare_numbers(left, right);
    const Text *text = text_in(left), *other = text_in(right);
    if (text != nullptr && other != nullptr) {
        machine.work(text->size());
        return sign_of(text->bytes().compare(other->bytes()));
    }
    const List *list = list_in(left), *others = list_in(right);
    if (list == nullptr || others == nullptr || list->kind != others->kind)
        machine.fail("'" + std::string(operation) + "' cannot compare " + type_name(left) +
                     " and " + type_name(right));
    const std::size_t common = std::min(list->items.size(), others->items.size());
    for (std::size_t i = 0; i < common; ++i)
        if (!equal(machine, list->items[i], others->items[i]))
            return compare(machine, operation, list->items[i], others->items[i]);
    return list->items.size() < others->items.size()   ? -1
           : list->items.size() > others->items.size() ? 1
                                                       : 0;
}

bool contains(Machine& machine, const Value& in, const Value& what) {
    if (is_undefined(in)) return false;
    if (const Text* text = text_in(in)) {
        const Text* part = text_in(what);
        if (part == nullptr)
            machine.fail("'in' looks for a text in a text, not for a value of the type " +
                         type_name(what));
        machine.work(text->size());
        return find_text(text->bytes(), part->bytes(), 0) != std::string::npos;
    }
    if (const Dict* dict = dict_in(in))
        return text_in(what) != nullptr && dict->find(text_in(what)->bytes()) != nullptr;
    const List* list = list_in(in);
    if (list == nullptr) machine.fail("'in' cannot look into a value of the type " + type_name(in));
    return std::ranges::any_of(list->items,
                               [&](const Value& item) { return equal(machine, item, what); });
}

bool holds(Machine& machine, std::string_view operation, const Value& left, const Value& right) {
    if (operation == "==") return equal(machine, left, right);
    if (operation == "!=") return !equal(machine, left, right);
    if (operation == "in") return contains(machine, right, left);
    if (operation == "not in") return !contains(machine, right, left);
    if (const auto* undefined = get<Undefined>(is_undefined(left) ? left : right))
        machine.fail(undefined->why ? *undefined->why : "a value is undefined");
    const int order = compare(machine, operation, left, right);
    if (operation == "<") return order < 0;
    if (operation == "<=") return order <= 0;
    return operation == ">" ? order > 0 : order >= 0;
}

}  // namespace lockstep::data::jinja
