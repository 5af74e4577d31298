// SPDX-License-Identifier: Apache-2.0
// Statements.
#include <utility>

#include "data/templates/evaluator.hpp"
#include "data/templates/members.hpp"
#include "data/templates/printing.hpp"

namespace lockstep::data::jinja {

Text Evaluator::render(const Block& block) {
    Text text;
    out_ = &text;
    run(block, root_);
    out_ = nullptr;
    return text;
}

Evaluator::Flow Evaluator::run(const Block& block, Scope& scope) {
    const Level level(machine_);
    for (const auto& statement : block)
        if (const Flow flow = run(*statement, scope); flow != Flow::on) return flow;
    return Flow::on;
}

Evaluator::Flow Evaluator::run(const Statement& statement, Scope& scope) {
    machine_.step();
    machine_.at_line(statement.line);
    switch (statement.kind) {
        case Statement::Kind::data:
            machine_.work(statement.text.size());
            machine_.append(*out_, statement.text);
            break;
        case Statement::Kind::output: {
            const Text text = printed(machine_, evaluate(*statement.expressions[0], scope));
            machine_.work(text.size());
            machine_.append(*out_, text);
            break;
        }
        case Statement::Kind::branches:
            return run_branches(statement, scope);
        case Statement::Kind::loop:
            return run_loop(statement, scope);
        case Statement::Kind::set:
            assign(statement.target, evaluate(*statement.expressions[0], scope), scope);
            break;
        case Statement::Kind::set_block:
            return run_set_block(statement, scope);
        case Statement::Kind::macro:
            define(statement, scope);
            break;
        case Statement::Kind::generation:
            return run_generation(statement, scope);
        case Statement::Kind::leave:
            return Flow::leave;
        case Statement::Kind::next:
            return Flow::next;
    }
    return Flow::on;
}

Evaluator::Flow Evaluator::run_branches(const Statement& statement, Scope& scope) {
    for (std::size_t i = 0; i < statement.expressions.size(); ++i)
        if (truth(evaluate(*statement.expressions[i], scope)))
            return run(statement.blocks[i], scope);
    return run(statement.blocks.back(), scope);
}

// The condition sees the item, but no `loop`.
ListPointer Evaluator::looped(const Statement& statement, Scope& scope) {
    ListPointer all = items_of(machine_, evaluate(*statement.expressions[0], scope));
    if (!statement.expressions[1]) return all;
    std::vector<Value> items;
    for (const Value& item : all->items) {
        machine_.step();
        Scope inner(&scope);
        assign(statement.target, item, inner);
        if (truth(evaluate(*statement.expressions[1], inner))) items.push_back(item);
    }
    const Value list = machine_.list(std::move(items));
    return *std::get_if<ListPointer>(&list);
}

Evaluator::Flow Evaluator::run_loop(const Statement& statement, Scope& scope) {
    const ListPointer items = looped(statement, scope);
    if (items->items.empty()) return run(statement.blocks[1], scope);
    const auto loop = machine_.loop(items);
    for (std::size_t i = 0; i < items->items.size(); ++i) {
        machine_.step();
        machine_.at_line(statement.line);
        loop->index = i;
        Scope inner(&scope);
        inner.set("loop", loop);
        assign(statement.target, items->items[i], inner);
        if (run(statement.blocks[0], inner) == Flow::leave) break;
    }
    return Flow::on;
}

Evaluator::Flow Evaluator::run_set_block(const Statement& statement, Scope& scope) {
    Text text;
    Text* const outer = std::exchange(out_, &text);
    Scope inner(&scope);
    const Flow flow = run(statement.blocks[0], inner);
    out_ = outer;
    if (flow != Flow::on) return flow;
    Value value = machine_.text(std::move(text));
    if (statement.expressions[0]) {
        // The filters stand around the name of nothing.
        inner.set("", std::move(value));
        value = evaluate(*statement.expressions[0], inner);
    }
    assign(statement.target, std::move(value), scope);
    return Flow::on;
}

Evaluator::Flow Evaluator::run_generation(const Statement& statement, Scope& scope) {
    Text text;
    Text* const outer = std::exchange(out_, &text);
    Scope inner(&scope);
    const Flow flow = run(statement.blocks[0], inner);
    out_ = outer;
    machine_.work(text.size());
    text.mark(0, generation);
    machine_.append(*out_, text);
    return flow;
}

void Evaluator::define(const Statement& macro, Scope& scope) {
    auto function = std::make_shared<Function>();
    function->kind = Function::Kind::macro;
    function->name = macro.text;
    function->macro = &macro;
    scope.set(macro.text, FunctionPointer(std::move(function)));
}

void Evaluator::assign(const Target& target, Value value, Scope& scope) {
    if (target.kind == Target::Kind::name) return scope.set(target.names[0], std::move(value));
    if (target.kind == Target::Kind::member) {
        const Value* found = scope.find(target.names[0]);
        const auto* space = found == nullptr ? nullptr : get<Namespace*>(*found);
        if (space == nullptr)
            machine_.fail("'" + target.names[0] + "' is no namespace; only its members can be set");
        return (*space)->set(target.names[1], std::move(value));
    }
    const ListPointer items = items_of(machine_, value);
    if (items->items.size() != target.names.size())
        machine_.fail("there are " + std::to_string(items->items.size()) + " values for " +
                      std::to_string(target.names.size()) + " names");
    for (std::size_t i = 0; i < target.names.size(); ++i)
        scope.set(target.names[i], items->items[i]);
}

}  // namespace lockstep::data::jinja
