// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/jinja/nodes.hpp"
#include "data/templates/arguments.hpp"

namespace lockstep::data::jinja {

// The variables of the template, of a round of a loop or of a call of a macro.
class Scope {
public:
    explicit Scope(const Scope* outer) : outer_(outer) {}
    // Looks into the outer ones, too. Returns nullptr if there is no such variable.
    const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);

private:
    const Scope* outer_;
    std::vector<std::pair<std::string_view, Value>> variables_;
};

// Renders the statements of a template.
class Evaluator {
public:
    // The date is that of strftime_now; nothing: there is no such function.
    Evaluator(Machine& machine, const Scope& context, const std::optional<Date>& date)
        : machine_(machine), context_(context), root_(&context_), date_(date) {}

    Text render(const Block& block);

private:
    enum class Flow { on, next, leave };  // behind a statement; `continue` and `break`

    Flow run(const Block& block, Scope& scope);
    Flow run(const Statement& statement, Scope& scope);
    Flow run_branches(const Statement& statement, Scope& scope);
    Flow run_loop(const Statement& statement, Scope& scope);
    ListPointer looped(const Statement& statement, Scope& scope);
    Flow run_set_block(const Statement& statement, Scope& scope);
    Flow run_generation(const Statement& statement, Scope& scope);
    void define(const Statement& macro, Scope& scope);
    void assign(const Target& target, Value value, Scope& scope);

    Value evaluate(const Expression& expression, const Scope& scope);
    Value evaluate_part(const Expression& expression, std::size_t part, const Scope& scope) {
        return evaluate(*expression.parts[part], scope);
    }
    Value name(const Expression& expression, const Scope& scope);
    Value dict(const Expression& expression, const Scope& scope);
    Value items(const Expression& expression, const Scope& scope);
    Value item_or_slice(const Expression& expression, const Scope& scope);
    Value concat(const Expression& expression, const Scope& scope);
    Value compared(const Expression& expression, const Scope& scope);
    Value operated(const Expression& expression, const Scope& scope);
    Value chosen(const Expression& expression, const Scope& scope);
    Value call(const Expression& expression, const Scope& scope);
    void bind(const Statement& macro, const Arguments& arguments, Scope& scope);
    Value call_macro(const Statement& macro, const Arguments& arguments);
    Arguments arguments(const Expression& expression, const Scope& scope);

    Machine& machine_;
    const Scope& context_;
    Scope root_;
    const std::optional<Date>& date_;
    Text* out_ = nullptr;
};

}  // namespace lockstep::data::jinja
