// SPDX-License-Identifier: Apache-2.0
// Expressions.
#include "data/templates/evaluator.hpp"

#include <algorithm>

#include "data/templates/filters.hpp"
#include "data/templates/functions.hpp"
#include "data/templates/members.hpp"
#include "data/templates/methods.hpp"
#include "data/templates/operators.hpp"
#include "data/templates/printing.hpp"
#include "data/templates/tests.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {

const Value* Scope::find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer_)
        for (const auto& [known, value] : scope->variables_)
            if (known == name) return &value;
    return nullptr;
}

void Scope::set(std::string_view name, Value value) {
    for (auto& [known, old] : variables_) {
        if (known != name) continue;
        old = std::move(value);
        return;
    }
    variables_.emplace_back(name, std::move(value));
}

Value Evaluator::evaluate(const Expression& expression, const Scope& scope) {
    using Kind = Expression::Kind;
    const Level level(machine_);
    machine_.step();
    machine_.at_line(expression.line);
    switch (expression.kind) {
        case Kind::constant:
            return expression.value;
        case Kind::name:
            return name(expression, scope);
        case Kind::list:
        case Kind::tuple:
            return items(expression, scope);
        case Kind::dict:
            return dict(expression, scope);
        case Kind::attribute:
            return attribute(machine_, evaluate_part(expression, 0, scope), expression.name);
        case Kind::item:
        case Kind::slice:
            return item_or_slice(expression, scope);
        case Kind::call:
            return call(expression, scope);
        case Kind::filter: {
            const Value value = evaluate_part(expression, 0, scope);
            return apply_filter(machine_, expression.name, value, arguments(expression, scope));
        }
        case Kind::test: {
            const Value value = evaluate_part(expression, 0, scope);
            return passes_test(machine_, expression.name, value, arguments(expression, scope));
        }
        case Kind::concat:
            return concat(expression, scope);
        case Kind::compare:
            return compared(expression, scope);
        case Kind::choice:
            return chosen(expression, scope);
        default:
            return operated(expression, scope);
    }
}

Value Evaluator::operated(const Expression& expression, const Scope& scope) {
    using Kind = Expression::Kind;
    Value left = evaluate_part(expression, 0, scope);
    machine_.at_line(expression.line);
    switch (expression.kind) {
        case Kind::negate:
            return negative(machine_, left);
        case Kind::plus:
            return calculate(machine_, Kind::add, std::int64_t{0}, left);
        case Kind::logical_not:
            return !truth(left);
        case Kind::logical_and:
        case Kind::logical_or:
            if (truth(left) == (expression.kind == Kind::logical_or)) return left;
            return evaluate_part(expression, 1, scope);
        default:
            break;
    }
    const Value right = evaluate_part(expression, 1, scope);
    machine_.at_line(expression.line);
    return calculate(machine_, expression.kind, left, right);
}

Value Evaluator::name(const Expression& expression, const Scope& scope) {
    if (const Value* value = scope.find(expression.name)) return *value;
    if (is_global(expression.name) && (expression.name != "strftime_now" || date_)) {
        auto function = std::make_shared<Function>();
        function->name = expression.name;
        return FunctionPointer(std::move(function));
    }
    return machine_.undefined(
        "'" + shown(expression.name) + "' is undefined" +
        (expression.name == "strftime_now"
             ? " without a day; give prepare one by --date, or let the template "
               "ask whether it is defined"
             : ""));
}

Value Evaluator::items(const Expression& expression, const Scope& scope) {
    std::vector<Value> items;
    for (const auto& part : expression.parts) items.push_back(evaluate(*part, scope));
    const bool tuple = expression.kind == Expression::Kind::tuple;
    return machine_.list(std::move(items), tuple ? List::Kind::tuple : List::Kind::list);
}

Value Evaluator::dict(const Expression& expression, const Scope& scope) {
    auto dict = std::make_shared<Dict>();
    for (std::size_t i = 0; i < expression.parts.size(); i += 2) {
        const Value name = evaluate_part(expression, i, scope);
        if (text_in(name) == nullptr)
            machine_.fail("the names in a dict are texts, not of the type " + type_name(name));
        dict->set(*get<TextPointer>(name), evaluate_part(expression, i + 1, scope));
    }
    return machine_.dict(std::move(dict));
}

Value Evaluator::item_or_slice(const Expression& expression, const Scope& scope) {
    const Value value = evaluate_part(expression, 0, scope);
    const Expression& index = *expression.parts[1];
    if (index.kind != Expression::Kind::slice) {
        const Value at = evaluate(index, scope);
        machine_.at_line(expression.line);
        return item(machine_, value, at);
    }
    const auto given = [&](std::size_t place) {
        return index.parts[place] ? evaluate(*index.parts[place], scope) : Value(None{});
    };
    const Slice slice{given(0), given(1), given(2)};
    return part(machine_, value, slice);
}

Value Evaluator::concat(const Expression& expression, const Scope& scope) {
    Text out;
    for (const auto& part : expression.parts)
        machine_.append(out, printed(machine_, evaluate(*part, scope)));
    return machine_.text(std::move(out));
}

Value Evaluator::compared(const Expression& expression, const Scope& scope) {
    Value left = evaluate_part(expression, 0, scope);
    for (std::size_t i = 0; i < expression.names.size(); ++i) {
        Value right = evaluate_part(expression, i + 1, scope);
        machine_.at_line(expression.line);
        if (!holds(machine_, expression.names[i], left, right)) return false;
        left = std::move(right);
    }
    return true;
}

Value Evaluator::chosen(const Expression& expression, const Scope& scope) {
    if (truth(evaluate_part(expression, 1, scope))) return evaluate_part(expression, 0, scope);
    if (expression.parts[2]) return evaluate_part(expression, 2, scope);
    return machine_.undefined("an expression with 'if' and without 'else' has no value here");
}

Arguments Evaluator::arguments(const Expression& expression, const Scope& scope) {
    Arguments given;
    const std::size_t unnamed = expression.parts.size() - expression.names.size();
    for (std::size_t i = 1; i < expression.parts.size(); ++i) {
        Value value = evaluate_part(expression, i, scope);
        if (i < unnamed)
            given.positional.push_back(std::move(value));
        else
            given.named.emplace_back(expression.names[i - unnamed], std::move(value));
    }
    machine_.at_line(expression.line);
    return given;
}

Value Evaluator::call(const Expression& expression, const Scope& scope) {
    const Value callee = evaluate_part(expression, 0, scope);
    if (const auto* undefined = get<Undefined>(callee))
        machine_.fail(undefined->why ? *undefined->why : "a function is undefined");
    const auto* function = get<FunctionPointer>(callee);
    if (function == nullptr)
        machine_.fail("a value of the type " + type_name(callee) + " cannot be called");
    const Arguments given = arguments(expression, scope);
    switch ((*function)->kind) {
        case Function::Kind::method:
            return call_method(machine_, **function, given);
        case Function::Kind::macro:
            return call_macro(*(*function)->macro, given);
        case Function::Kind::global:
            break;
    }
    return call_function(machine_, (*function)->name, given, date_);
}

void Evaluator::bind(const Statement& macro, const Arguments& given, Scope& scope) {
    const auto& names = macro.target.names;
    const std::string of = "the macro '" + macro.text + "'";
    if (given.positional.size() > names.size())
        machine_.fail(of + " takes at most " + std::to_string(names.size()) + " arguments");
    std::vector<bool> bound(names.size(), false);
    for (std::size_t i = 0; i < given.positional.size(); ++i) {
        scope.set(names[i], given.positional[i]);
        bound[i] = true;
    }
    for (const auto& [name, value] : given.named) {
        const auto found = std::ranges::find(names, name);
        if (found == names.end()) machine_.fail(of + " has no argument '" + shown(name) + "'");
        const auto place = static_cast<std::size_t>(found - names.begin());
        if (bound[place]) machine_.fail(of + " has the argument '" + shown(name) + "' twice");
        scope.set(*found, value);
        bound[place] = true;
    }
    const std::size_t without_default = names.size() - macro.expressions.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (bound[i]) continue;
        scope.set(names[i], i < without_default
                                ? machine_.undefined(of + " lacks its argument '" + names[i] + "'")
                                : evaluate(*macro.expressions[i - without_default], scope));
    }
}

Value Evaluator::call_macro(const Statement& macro, const Arguments& given) {
    const Level level(machine_);
    const int line = machine_.line();
    Scope scope(&root_);
    bind(macro, given, scope);
    Text text;
    Text* const outer = std::exchange(out_, &text);
    run(macro.blocks[0], scope);
    out_ = outer;
    machine_.at_line(line);
    return machine_.text(std::move(text));
}

}  // namespace lockstep::data::jinja
