// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/jinja/lexer.hpp"

namespace lockstep::data::jinja {

// The tokens of a template, one after the other. Expected tokens that are not there are an error
// with the line.
class TokenStream {
public:
    TokenStream(std::vector<Token> tokens, std::string name)
        : tokens_(std::move(tokens)), name_(std::move(name)) {}

    const Token& current() const { return tokens_[at_]; }
    const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
    int line() const { return current().line; }
    Token take() {
        const Token& token = tokens_[at_];
        if (at_ + 1 < tokens_.size()) ++at_;
        return token;
    }
    bool is(Token::Kind kind) const { return current().kind == kind; }
    bool is_operation(std::string_view text) const {
        return is(Token::Kind::operation) && current().text == text;
    }
    bool is_name(std::string_view text) const {
        return is(Token::Kind::name) && current().text == text;
    }
    bool take_operation(std::string_view text) { return is_operation(text) && (take(), true); }
    bool take_name(std::string_view text) { return is_name(text) && (take(), true); }
    void expect_operation(std::string_view text) {
        if (!take_operation(text)) fail_expected("'" + std::string(text) + "'");
    }
    void expect_name(std::string_view text) {
        if (!take_name(text)) fail_expected("'" + std::string(text) + "'");
    }
    std::string take_any_name() {
        if (!is(Token::Kind::name)) fail_expected("a name");
        return take().text;
    }
    void expect(Token::Kind kind);
    [[noreturn]] void fail(const std::string& what) const { fail(line(), what); }
    [[noreturn]] void fail(int line, const std::string& what) const {
        throw_bad_template(name_, line, what);
    }
    [[noreturn]] void fail_expected(const std::string& expected) const;

private:
    std::vector<Token> tokens_;
    std::string name_;
    std::size_t at_ = 0;
};

// Returns what a token is for a message.
std::string described(const Token& token);

}  // namespace lockstep::data::jinja
