// SPDX-License-Identifier: Apache-2.0
// The operands of expressions: constants, members, calls, filters and tests.
#include <array>
#include <utility>

#include "data/jinja/expression_parser.hpp"

namespace lockstep::data::jinja {

ExpressionPointer ExpressionParser::primary() {
    const Token& token = tokens_.current();
    switch (token.kind) {
        case Token::Kind::name:
            return name_or_constant();
        case Token::Kind::text:
            return text_constant();
        case Token::Kind::whole:
        case Token::Kind::real: {
            ExpressionPointer made = node(Kind::constant, token.line);
            if (token.kind == Token::Kind::whole)
                made->value = token.whole;
            else
                made->value = token.real;
            tokens_.take();
            return made;
        }
        default:
            break;
    }
    if (tokens_.is_operation("(")) return in_parentheses();
    if (tokens_.is_operation("[")) return list();
    if (tokens_.is_operation("{")) return dict();
    tokens_.fail_expected("an expression");
}

ExpressionPointer ExpressionParser::name_or_constant() {
    Token token = tokens_.take();
    ExpressionPointer made = node(Kind::constant, token.line);
    if (token.text == "true" || token.text == "True")
        made->value = true;
    else if (token.text == "false" || token.text == "False")
        made->value = false;
    else if (token.text != "none" && token.text != "None") {
        made->kind = Kind::name;
        made->name = std::move(token.text);
    }
    return made;
}

ExpressionPointer ExpressionParser::text_constant() {
    ExpressionPointer made = node(Kind::constant, tokens_.line());
    std::string text;
    while (tokens_.is(Token::Kind::text)) text += tokens_.take().text;
    made->value = std::make_shared<const Text>(std::move(text));
    return made;
}

ExpressionPointer ExpressionParser::in_parentheses() {
    const int line = tokens_.take().line;
    ExpressionPointer made =
        tokens_.is_operation(")") ? node(Kind::tuple, line) : tuple(Choices::yes);
    tokens_.expect_operation(")");
    return made;
}

ExpressionPointer ExpressionParser::list() {
    ExpressionPointer made = node(Kind::list, tokens_.take().line);
    while (!tokens_.is_operation("]")) {
        add(*made, expression());
        if (!tokens_.is_operation("]")) tokens_.expect_operation(",");
    }
    tokens_.take();
    return made;
}

ExpressionPointer ExpressionParser::dict() {
    ExpressionPointer made = node(Kind::dict, tokens_.take().line);
    while (!tokens_.is_operation("}")) {
        add(*made, expression());
        tokens_.expect_operation(":");
        add(*made, expression());
        if (!tokens_.is_operation("}")) tokens_.expect_operation(",");
    }
    tokens_.take();
    return made;
}

ExpressionPointer ExpressionParser::postfix(ExpressionPointer value) {
    for (;;) {
        if (tokens_.is_operation("."))
            value = member(std::move(value));
        else if (tokens_.is_operation("["))
            value = subscript(std::move(value));
        else if (tokens_.is_operation("("))
            value = call(std::move(value));
        else
            return value;
    }
}

ExpressionPointer ExpressionParser::filters_and_tests(ExpressionPointer value) {
    for (;;) {
        if (tokens_.is_operation("|"))
            value = filter(std::move(value));
        else if (tokens_.is_name("is"))
            value = test(std::move(value));
        else if (tokens_.is_operation("("))
            value = call(std::move(value));
        else
            return value;
    }
}

ExpressionPointer ExpressionParser::filters(ExpressionPointer value) {
    while (tokens_.is_operation("|")) value = filter(std::move(value));
    return value;
}

ExpressionPointer ExpressionParser::member(ExpressionPointer value) {
    const int line = tokens_.take().line;
    ExpressionPointer made = node(Kind::attribute, line);
    add(*made, std::move(value));
    if (tokens_.is(Token::Kind::whole)) {
        made->kind = Kind::item;
        add(*made, primary());
        return made;
    }
    made->name = tokens_.take_any_name();
    return made;
}

ExpressionPointer ExpressionParser::subscript(ExpressionPointer value) {
    ExpressionPointer made = node(Kind::item, tokens_.take().line);
    add(*made, std::move(value));
    add(*made, index_or_slice());
    tokens_.expect_operation("]");
    return made;
}

ExpressionPointer ExpressionParser::index_or_slice() {
    const int line = tokens_.line();
    const auto ends = [&] { return tokens_.is_operation(":") || tokens_.is_operation("]"); };
    ExpressionPointer begin = ends() ? nullptr : expression();
    if (!tokens_.is_operation(":")) {
        if (!begin) tokens_.fail_expected("an expression");
        return begin;
    }
    ExpressionPointer made = node(Kind::slice, line);
    add(*made, std::move(begin));
    for (int part = 0; part < 2; ++part)
        add(*made, tokens_.take_operation(":") && !ends() ? expression() : nullptr);
    return made;
}

ExpressionPointer ExpressionParser::filter(ExpressionPointer value) {
    const int line = tokens_.take().line;
    ExpressionPointer made = node(Kind::filter, line);
    add(*made, std::move(value));
    made->name = tokens_.take_any_name();
    if (tokens_.is_operation("(")) arguments(*made);
    return made;
}

bool ExpressionParser::test_has_argument() const {
    switch (tokens_.current().kind) {
        case Token::Kind::text:
        case Token::Kind::whole:
        case Token::Kind::real:
            return true;
        case Token::Kind::name:
            return !tokens_.is_name("else") && !tokens_.is_name("or") && !tokens_.is_name("and");
        default:
            return tokens_.is_operation("[") || tokens_.is_operation("{");
    }
}

ExpressionPointer ExpressionParser::test(ExpressionPointer value) {
    const int line = tokens_.take().line;
    const bool negated = tokens_.take_name("not");
    ExpressionPointer made = node(Kind::test, line);
    add(*made, std::move(value));
    made->name = tokens_.take_any_name();
    if (tokens_.is_operation("(")) {
        arguments(*made);
    } else if (test_has_argument()) {
        if (tokens_.is_name("is")) tokens_.fail("tests cannot follow each other; use 'and'");
        add(*made, postfix(primary()));
    }
    if (!negated) return made;
    ExpressionPointer around = node(Kind::logical_not, line);
    add(*around, std::move(made));
    return around;
}

ExpressionPointer ExpressionParser::call(ExpressionPointer function) {
    ExpressionPointer made = node(Kind::call, tokens_.line());
    add(*made, std::move(function));
    arguments(*made);
    return made;
}

void ExpressionParser::arguments(Expression& to) {
    tokens_.take();
    while (!tokens_.is_operation(")")) {
        if (tokens_.is_operation("*") || tokens_.is_operation("**"))
            tokens_.fail("arguments with '*' are not supported");
        const Token& next = tokens_.ahead();
        const bool keyword = tokens_.is(Token::Kind::name) && next.kind == Token::Kind::operation &&
                             next.text == "=";
        if (!keyword && !to.names.empty())
            tokens_.fail("an argument without a name follows one with a name");
        if (keyword) {
            to.names.push_back(tokens_.take().text);
            tokens_.take();
        }
        add(to, expression());
        if (!tokens_.is_operation(")")) tokens_.expect_operation(",");
    }
    tokens_.take();
}

}  // namespace lockstep::data::jinja
