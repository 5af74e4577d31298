// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/jinja/nodes.hpp"
#include "data/jinja/token_stream.hpp"

namespace lockstep::data::jinja {

// Reads expressions by jinja2's grammar. Nested ones, and chains of operators, have at most
// `most_levels` levels.
class ExpressionParser {
public:
    static constexpr int most_levels = 150;

    explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

    // yes: `a if b else c` is part of the expression.
    enum class Choices { yes, no };
    ExpressionPointer expression(Choices choices = Choices::yes);
    // Reads an expression, or a tuple without brackets.
    ExpressionPointer tuple(Choices choices = Choices::yes);
    // Reads filters behind a value.
    ExpressionPointer filters(ExpressionPointer value);

private:
    class Level;
    using Kind = Expression::Kind;

    ExpressionPointer node(Kind kind, int line) const;
    // Adds a part and checks the levels.
    void add(Expression& to, ExpressionPointer part) const;
    ExpressionPointer joined(Kind kind, int line, ExpressionPointer left,
                             ExpressionPointer right) const;

    ExpressionPointer choice();
    ExpressionPointer either();
    ExpressionPointer both();
    ExpressionPointer negation();
    ExpressionPointer comparison();
    std::string comparison_operator();
    ExpressionPointer sum();
    ExpressionPointer concatenation();
    ExpressionPointer product();
    ExpressionPointer power();
    enum class Filters { yes, no };
    ExpressionPointer unary(Filters filters);
    ExpressionPointer primary();
    ExpressionPointer name_or_constant();
    ExpressionPointer text_constant();
    ExpressionPointer in_parentheses();
    ExpressionPointer list();
    ExpressionPointer dict();
    ExpressionPointer postfix(ExpressionPointer value);
    ExpressionPointer filters_and_tests(ExpressionPointer value);
    ExpressionPointer member(ExpressionPointer value);
    ExpressionPointer subscript(ExpressionPointer value);
    ExpressionPointer index_or_slice();
    ExpressionPointer filter(ExpressionPointer value);
    ExpressionPointer test(ExpressionPointer value);
    bool test_has_argument() const;
    ExpressionPointer call(ExpressionPointer function);
    void arguments(Expression& to);
    bool ends_tuple() const;

    TokenStream& tokens_;
    int level_ = 0;
};

}  // namespace lockstep::data::jinja
