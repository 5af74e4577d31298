// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/token_stream.hpp"

#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {

std::string described(const Token& token) {
    switch (token.kind) {
        case Token::Kind::data:
            return "text";
        case Token::Kind::block_begin:
            return "'{%'";
        case Token::Kind::block_end:
            return "'%}'";
        case Token::Kind::variable_begin:
            return "'{{'";
        case Token::Kind::variable_end:
            return "'}}'";
        case Token::Kind::name:
        case Token::Kind::operation:
            return "'" + shown(token.text) + "'";
        case Token::Kind::text:
            return "a text";
        case Token::Kind::whole:
        case Token::Kind::real:
            return "a number";
        case Token::Kind::end:
            break;
    }
    return "the end of the template";
}

void TokenStream::expect(Token::Kind kind) {
    if (!is(kind)) fail_expected(described({.kind = kind}));
    take();
}

void TokenStream::fail_expected(const std::string& expected) const {
    fail("expected " + expected + ", but there is " + described(current()));
}

}  // namespace lockstep::data::jinja
