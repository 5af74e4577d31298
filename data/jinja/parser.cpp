// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/parser.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "data/jinja/expression_parser.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {
namespace {

constexpr int most_blocks = 64;  // in each other

class Parser {
public:
    Parser(std::vector<Token> tokens, const std::string& name)
        : tokens_(std::move(tokens), name), expressions_(tokens_) {}

    Block all() {
        Block block = body({});
        if (!tokens_.is(Token::Kind::end)) tokens_.fail_expected("the end of the template");
        return block;
    }

private:
    using Kind = Statement::Kind;
    using Names = std::initializer_list<std::string_view>;

    static std::unique_ptr<Statement> node(Kind kind, int line) {
        auto made = std::make_unique<Statement>();
        made->kind = kind;
        made->line = line;
        return made;
    }
    // Reads what stands before a tag with one of the names, whose "{%" it passes.
    Block body(Names ends) {
        if (++level_ > most_blocks)
            tokens_.fail("more than " + std::to_string(most_blocks) + " blocks are in each other");
        Block block;
        const int begin = tokens_.line();
        while (!tokens_.is(Token::Kind::end)) {
            if (tokens_.is(Token::Kind::block_begin)) {
                tokens_.take();
                if (std::ranges::any_of(ends, [&](auto name) { return tokens_.is_name(name); }))
                    return --level_, std::move(block);
                block.push_back(statement());
                tokens_.expect(Token::Kind::block_end);
            } else if (tokens_.is(Token::Kind::data)) {
                block.push_back(node(Kind::data, tokens_.line()));
                block.back()->text = tokens_.take().text;
            } else {
                tokens_.expect(Token::Kind::variable_begin);
                block.push_back(node(Kind::output, tokens_.line()));
                block.back()->expressions.push_back(expressions_.tuple());
                tokens_.expect(Token::Kind::variable_end);
            }
        }
        if (ends.size() > 0)
            tokens_.fail(begin, "a block has no '{% " + std::string(*(ends.end() - 1)) + " %}'");
        return --level_, std::move(block);
    }
    // Reads the body of the statement whose tag ends here, up to its end, whose name it passes.
    Block body_of_tag(std::string_view end) {
        tokens_.expect(Token::Kind::block_end);
        Block block = body({end});
        tokens_.take();
        return block;
    }
    std::unique_ptr<Statement> statement() {
        const int line = tokens_.line();
        const std::string name = tokens_.take_any_name();
        if (name == "if") return branches(line);
        if (name == "for") return loop(line);
        if (name == "set") return set(line);
        if (name == "macro") return macro(line);
        if (name == "generation") {
            auto made = node(Kind::generation, line);
            made->blocks.push_back(body_of_tag("endgeneration"));
            return made;
        }
        if (name == "break" || name == "continue") {
            if (loops_ == 0) tokens_.fail(line, "'" + name + "' stands outside of a loop");
            return node(name == "break" ? Kind::leave : Kind::next, line);
        }
        tokens_.fail(line, "the tag '" + shown(name) + "' is unknown or not supported here");
    }
    std::unique_ptr<Statement> branches(int line) {
        auto made = node(Kind::branches, line);
        std::string end = "elif";
        while (end == "elif") {
            made->expressions.push_back(expressions_.tuple(Choices::no));
            tokens_.expect(Token::Kind::block_end);
            made->blocks.push_back(body({"elif", "else", "endif"}));
            end = tokens_.take().text;
        }
        made->blocks.emplace_back();
        if (end == "else") made->blocks.back() = body_of_tag("endif");
        return made;
    }
    std::unique_ptr<Statement> loop(int line) {
        auto made = node(Kind::loop, line);
        made->target = target();
        tokens_.expect_name("in");
        made->expressions.push_back(expressions_.tuple(Choices::no));
        made->expressions.push_back(tokens_.take_name("if") ? expressions_.expression() : nullptr);
        if (tokens_.is_name("recursive")) tokens_.fail("a recursive loop is not supported");
        tokens_.expect(Token::Kind::block_end);
        ++loops_;
        made->blocks.push_back(body({"else", "endfor"}));
        --loops_;
        made->blocks.emplace_back();
        if (tokens_.take().text == "else") made->blocks.back() = body_of_tag("endfor");
        return made;
    }
    std::unique_ptr<Statement> set(int line) {
        auto made = node(Kind::set, line);
        made->target = target();
        if (tokens_.take_operation("=")) {
            made->expressions.push_back(expressions_.tuple());
            return made;
        }
        made->kind = Kind::set_block;
        ExpressionPointer filters;
        if (tokens_.is_operation("|")) {
            filters = std::make_unique<Expression>();
            filters->kind = Expression::Kind::name;  // of the block's text
            filters->line = line;
            filters = expressions_.filters(std::move(filters));
        }
        made->expressions.push_back(std::move(filters));
        made->blocks.push_back(body_of_tag("endset"));
        return made;
    }
    // Reads a name, a member of a namespace, or several names with or without brackets.
    Target target() {
        Target made;
        const bool brackets = tokens_.take_operation("(");
        made.names.push_back(assignable());
        if (tokens_.take_operation(".")) {
            made.kind = Target::Kind::member;
            made.names.push_back(tokens_.take_any_name());
        }
        while (made.kind != Target::Kind::member && tokens_.take_operation(",")) {
            made.kind = Target::Kind::names;
            if (!tokens_.is(Token::Kind::name) || tokens_.is_name("in")) break;
            made.names.push_back(assignable());
        }
        if (brackets) tokens_.expect_operation(")");
        return made;
    }
    std::string assignable() {
        const int line = tokens_.line();
        std::string name = tokens_.take_any_name();
        for (const char* constant : {"true", "false", "none", "True", "False", "None"})
            if (name == constant) tokens_.fail(line, "no value can be given to '" + name + "'");
        return name;
    }
    std::unique_ptr<Statement> macro(int line) {
        if (loops_ > 0 || macros_ > 0)
            tokens_.fail(line, "a macro inside of a loop or of a macro is not supported");
        auto made = node(Kind::macro, line);
        made->text = assignable();
        tokens_.expect_operation("(");
        while (!tokens_.is_operation(")")) {
            made->target.names.push_back(assignable());
            if (tokens_.take_operation("="))
                made->expressions.push_back(expressions_.expression());
            else if (!made->expressions.empty())
                tokens_.fail("a parameter without a default value follows one that has one");
            if (!tokens_.is_operation(")")) tokens_.expect_operation(",");
        }
        tokens_.take();
        ++macros_;
        made->blocks.push_back(body_of_tag("endmacro"));
        --macros_;
        return made;
    }

    using Choices = ExpressionParser::Choices;
    TokenStream tokens_;
    ExpressionParser expressions_;
    int level_ = 0, loops_ = 0, macros_ = 0;
};

}  // namespace

Block parse_template(std::string_view source, const std::string& name) {
    return Parser(template_tokens(source, name), name).all();
}

}  // namespace lockstep::data::jinja
