// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "data/templates/operators.hpp"

namespace lockstep::data::jinja {
namespace {

using Kind = Expression::Kind;

const char* symbol(Kind kind) {
    switch (kind) {
        case Kind::add:
            return "+";
        case Kind::subtract:
            return "-";
        case Kind::multiply:
            return "*";
        case Kind::divide:
            return "/";
        case Kind::divide_whole:
            return "//";
        case Kind::remainder:
            return "%";
        default:
            return "**";
    }
}

std::int64_t whole_power(Machine& machine, std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    bool over = false;
    for (std::int64_t i = 0; i < exponent && !over && result != 0; ++i) {
        machine.step();
        over = __builtin_mul_overflow(result, base, &result);
    }
    if (over) machine.fail("'**' gives a number of more than 64 bits");
    return result;
}

// Divides as Python does: the quotient is rounded down.
std::int64_t quotient(std::int64_t left, std::int64_t right) {
    const std::int64_t cut = left / right;
    return left % right != 0 && (left < 0) != (right < 0) ? cut - 1 : cut;
}

Value of_wholes(Machine& machine, Kind kind, std::int64_t left, std::int64_t right) {
    std::int64_t result = 0;
    bool over = false;
    const bool divides = kind == Kind::divide_whole || kind == Kind::remainder;
    if (divides && right == -1) {  // the smallest number has no positive counterpart
        if (kind == Kind::remainder) return std::int64_t{0};
        over = __builtin_sub_overflow(std::int64_t{0}, left, &result);
    } else if (kind == Kind::add) {
        over = __builtin_add_overflow(left, right, &result);
    } else if (kind == Kind::subtract) {
        over = __builtin_sub_overflow(left, right, &result);
    } else if (kind == Kind::multiply) {
        over = __builtin_mul_overflow(left, right, &result);
    } else if (kind == Kind::divide_whole) {
        result = quotient(left, right);
    } else if (kind == Kind::remainder) {
        result = left - quotient(left, right) * right;
    } else if (right < 0) {
        return std::pow(static_cast<double>(left), static_cast<double>(right));
    } else {
        result = whole_power(machine, left, right);
    }
    if (over)
        machine.fail(std::string("'") + symbol(kind) + "' gives a number of more than 64 bits");
    return result;
}

Value of_reals(Kind kind, double left, double right) {
    switch (kind) {
        case Kind::add:
            return left + right;
        case Kind::subtract:
            return left - right;
        case Kind::multiply:
            return left * right;
        case Kind::divide:
            return left / right;
        case Kind::divide_whole:
            return std::floor(left / right);
        case Kind::remainder: {
            const double rest = std::fmod(left, right);
            return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
        }
        default:
            return std::pow(left, right);
    }
}

Value of_numbers(Machine& machine, Kind kind, const Value& left, const Value& right) {
    const bool divides =
        kind == Kind::divide || kind == Kind::divide_whole || kind == Kind::remainder;
    if (divides && *number_in(right) == 0) machine.fail("a division by zero");
    const auto a = whole_in(left), b = whole_in(right);
    if (a && b && kind != Kind::divide) return of_wholes(machine, kind, *a, *b);
    return of_reals(kind, *number_in(left), *number_in(right));
}

Value repeated(Machine& machine, const Value& value, std::int64_t given) {
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(given, 0));
    if (const Text* text = text_in(value)) {
        if (text->size() > 0 && count > 0) {
            machine.step(count);
            machine.check_bytes(text->size() * count);
        }
        Text out;
        for (std::size_t i = 0; i < count && !text->empty(); ++i) out.append(*text);
        return machine.text(std::move(out));
    }
    const List& list = *list_in(value);
    std::vector<Value> items;
    if (!list.items.empty() && count > 0) machine.step(count);
    for (std::size_t i = 0; i < count && !list.items.empty(); ++i) {
        machine.step(list.items.size());
        items.insert(items.end(), list.items.begin(), list.items.end());
    }
    return machine.list(std::move(items), list.kind);
}

Value joined(Machine& machine, const Value& left, const Value& right) {
    if (const Text* text = text_in(left)) {
        Text out = *text;
        machine.append(out, *text_in(right));
        return machine.text(std::move(out));
    }
    std::vector<Value> items = list_in(left)->items;
    const auto& more = list_in(right)->items;
    items.insert(items.end(), more.begin(), more.end());
    return machine.list(std::move(items), list_in(left)->kind);
}

bool can_repeat(const Value& value) {
    const List* list = list_in(value);
    return text_in(value) != nullptr ||
           (list != nullptr && (list->kind == List::Kind::list || list->kind == List::Kind::tuple));
}

bool can_join(const Value& left, const Value& right) {
    if (text_in(left) != nullptr && text_in(right) != nullptr) return true;
    const List *a = list_in(left), *b = list_in(right);
    return a != nullptr && b != nullptr && a->kind == b->kind && can_repeat(left);
}

}  // namespace

Value calculate(Machine& machine, Kind kind, const Value& left, const Value& right) {
    machine.step();
    for (const Value* value : {&left, &right})
        if (const auto* undefined = get<Undefined>(*value))
            machine.fail(undefined->why ? *undefined->why : "a value is undefined");
    if (number_in(left) && number_in(right)) return of_numbers(machine, kind, left, right);
    if (kind == Kind::add && can_join(left, right)) return joined(machine, left, right);
    if (kind == Kind::multiply && can_repeat(left) && whole_in(right))
        return repeated(machine, left, *whole_in(right));
    if (kind == Kind::multiply && can_repeat(right) && whole_in(left))
        return repeated(machine, right, *whole_in(left));
    if (kind == Kind::remainder && text_in(left) != nullptr)
        machine.fail("'%' with a text on its left is not supported; use '~'");
    machine.fail(std::string("'") + symbol(kind) + "' cannot take " + type_name(left) + " and " +
                 type_name(right));
}

Value negative(Machine& machine, const Value& value) {
    if (const auto whole = whole_in(value)) return of_wholes(machine, Kind::subtract, 0, *whole);
    if (const auto* real = get<double>(value)) return -*real;
    machine.fail("'-' cannot take a value of the type " + type_name(value));
}

}  // namespace lockstep::data::jinja
