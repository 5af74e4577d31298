// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/expression_parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::data::jinja {

// Counts the levels of the parser's own calls.
class ExpressionParser::Level {
public:
    explicit Level(ExpressionParser& parser) : parser_(parser) {
        if (++parser.level_ > most_levels) {
            --parser.level_;
            parser.tokens_.fail("an expression has more than " + std::to_string(most_levels) +
                                " levels");
        }
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

private:
    ExpressionParser& parser_;
};

ExpressionPointer ExpressionParser::node(Kind kind, int line) const {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->line = line;
    return made;
}

void ExpressionParser::add(Expression& to, ExpressionPointer part) const {
    if (part) to.depth = std::max(to.depth, part->depth + 1);
    if (to.depth > most_levels)
        tokens_.fail("an expression has more than " + std::to_string(most_levels) + " levels");
    to.parts.push_back(std::move(part));
}

ExpressionPointer ExpressionParser::joined(Kind kind, int line, ExpressionPointer left,
                                           ExpressionPointer right) const {
    ExpressionPointer made = node(kind, line);
    add(*made, std::move(left));
    add(*made, std::move(right));
    return made;
}

ExpressionPointer ExpressionParser::expression(Choices choices) {
    const Level level(*this);
    return choices == Choices::yes ? choice() : either();
}

ExpressionPointer ExpressionParser::tuple(Choices choices) {
    const int line = tokens_.line();
    if (ends_tuple()) tokens_.fail_expected("an expression");
    ExpressionPointer first = expression(choices);
    if (!tokens_.is_operation(",")) return first;
    ExpressionPointer made = node(Kind::tuple, line);
    add(*made, std::move(first));
    while (tokens_.take_operation(",") && !ends_tuple()) add(*made, expression(choices));
    return made;
}

bool ExpressionParser::ends_tuple() const {
    return tokens_.is(Token::Kind::variable_end) || tokens_.is(Token::Kind::block_end) ||
           tokens_.is_operation(")") || tokens_.is_name("recursive");
}

ExpressionPointer ExpressionParser::choice() {
    ExpressionPointer value = either();
    while (tokens_.is_name("if")) {
        ExpressionPointer made = node(Kind::choice, tokens_.take().line);
        add(*made, std::move(value));
        add(*made, either());
        add(*made, tokens_.take_name("else") ? expression() : nullptr);
        value = std::move(made);
    }
    return value;
}

ExpressionPointer ExpressionParser::either() {
    ExpressionPointer left = both();
    while (tokens_.is_name("or")) {
        const int line = tokens_.take().line;
        left = joined(Kind::logical_or, line, std::move(left), both());
    }
    return left;
}

ExpressionPointer ExpressionParser::both() {
    ExpressionPointer left = negation();
    while (tokens_.is_name("and")) {
        const int line = tokens_.take().line;
        left = joined(Kind::logical_and, line, std::move(left), negation());
    }
    return left;
}

ExpressionPointer ExpressionParser::negation() {
    if (!tokens_.is_name("not")) return comparison();
    const Level level(*this);
    ExpressionPointer made = node(Kind::logical_not, tokens_.take().line);
    add(*made, negation());
    return made;
}

std::string ExpressionParser::comparison_operator() {
    constexpr std::array<std::string_view, 6> operators{"==", "!=", "<", "<=", ">", ">="};
    if (tokens_.is(Token::Kind::operation) &&
        std::ranges::find(operators, tokens_.current().text) != operators.end())
        return tokens_.take().text;
    if (tokens_.take_name("in")) return "in";
    const Token& next = tokens_.ahead();
    if (!tokens_.is_name("not") || next.kind != Token::Kind::name || next.text != "in") return "";
    tokens_.take();
    tokens_.take();
    return "not in";
}

ExpressionPointer ExpressionParser::comparison() {
    const int line = tokens_.line();
    ExpressionPointer left = sum();
    std::string operation = comparison_operator();
    if (operation.empty()) return left;
    ExpressionPointer made = node(Kind::compare, line);
    add(*made, std::move(left));
    for (; !operation.empty(); operation = comparison_operator()) {
        made->names.push_back(std::move(operation));
        add(*made, sum());
    }
    return made;
}

ExpressionPointer ExpressionParser::sum() {
    ExpressionPointer left = concatenation();
    while (tokens_.is_operation("+") || tokens_.is_operation("-")) {
        const Token sign = tokens_.take();
        const Kind kind = sign.text == "+" ? Kind::add : Kind::subtract;
        left = joined(kind, sign.line, std::move(left), concatenation());
    }
    return left;
}

ExpressionPointer ExpressionParser::concatenation() {
    const int line = tokens_.line();
    ExpressionPointer first = product();
    if (!tokens_.is_operation("~")) return first;
    ExpressionPointer made = node(Kind::concat, line);
    add(*made, std::move(first));
    while (tokens_.take_operation("~")) add(*made, product());
    return made;
}

ExpressionPointer ExpressionParser::product() {
    ExpressionPointer left = power();
    constexpr std::array<std::pair<std::string_view, Kind>, 4> operators{
        {{"*", Kind::multiply},
         {"/", Kind::divide},
         {"//", Kind::divide_whole},
         {"%", Kind::remainder}}};
    for (;;) {
        const auto found = std::ranges::find_if(
            operators, [&](const auto& known) { return tokens_.is_operation(known.first); });
        if (found == operators.end()) return left;
        const int line = tokens_.take().line;
        left = joined(found->second, line, std::move(left), power());
    }
}

ExpressionPointer ExpressionParser::power() {
    ExpressionPointer left = unary(Filters::yes);
    while (tokens_.is_operation("**")) {
        const int line = tokens_.take().line;
        left = joined(Kind::power, line, std::move(left), unary(Filters::yes));
    }
    return left;
}

ExpressionPointer ExpressionParser::unary(Filters with) {
    ExpressionPointer value;
    if (tokens_.is_operation("-") || tokens_.is_operation("+")) {
        const Level level(*this);
        const Token sign = tokens_.take();
        value = node(sign.text == "-" ? Kind::negate : Kind::plus, sign.line);
        add(*value, unary(Filters::no));
    } else {
        value = primary();
    }
    value = postfix(std::move(value));
    return with == Filters::yes ? filters_and_tests(std::move(value)) : std::move(value);
}

}  // namespace lockstep::data::jinja
