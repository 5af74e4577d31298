// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/lexer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "data/jinja/characters.hpp"
#include "data/jinja/literals.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {
namespace {

constexpr std::array<std::string_view, 28> operators = {
    "//", "**", "==", "!=", "<=", ">=", "{%", "{{", "+", "-", "/", "*", "%", "~",
    "[",  "]",  "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";"};

class Lexer {
public:
    Lexer(std::string source, const std::string& name)
        : source_(std::move(source)), all_(source_), name_(name) {}

    std::vector<Token> tokens() {
        while (at_ < all_.size()) read_data();
        add(Token::Kind::end, "");
        return std::move(tokens_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw_bad_template(name_, line_, what);
    }
    bool begins(std::string_view with) const { return all_.substr(at_).starts_with(with); }
    void pass(std::size_t bytes) {
        const std::string_view passed = all_.substr(at_, bytes);
        line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
        line_starts_ = passed.empty() ? line_starts_ : passed.back() == '\n';
        at_ += passed.size();
    }
    void pass_spaces() { pass(spaces_at_begin(all_.substr(at_))); }
    void add(Token::Kind kind, std::string_view text) {
        tokens_.push_back({.kind = kind, .line = line_, .text = std::string(text)});
    }

    // Reads the text up to the next tag, and the tag.
    void read_data() {
        std::size_t tag = at_;
        for (;; ++tag) {
            tag = all_.find('{', tag);
            if (tag == std::string_view::npos) tag = all_.size();
            if (tag + 1 >= all_.size()) tag = all_.size();
            if (tag == all_.size() || std::string_view("%{#").find(all_[tag + 1]) != all_.npos)
                break;
        }
        const bool ends = tag == all_.size();
        const char sign = tag + 2 < all_.size() ? all_[tag + 2] : ' ';
        const char kind = ends ? ' ' : all_[tag + 1];
        std::string_view text = all_.substr(at_, tag - at_);
        if (!ends && sign == '-')
            text.remove_suffix(spaces_at_end(text));
        else if (!ends && sign != '+' && kind != '{')
            text = without_indent(text);
        if (!text.empty()) add(Token::Kind::data, text);
        pass(tag - at_);
        if (ends) return;
        read_tag(kind, sign == '-' || sign == '+' ? 3 : 2);
    }
    // Cuts off the spaces before a block that stands at the beginning of its line.
    std::string_view without_indent(std::string_view text) const {
        const std::size_t feed = text.rfind('\n');
        if (feed == std::string_view::npos && !line_starts_) return text;
        const std::size_t line = feed == std::string_view::npos ? 0 : feed + 1;
        return spaces_at_begin(text.substr(line)) == text.size() - line ? text.substr(0, line)
                                                                        : text;
    }
    void read_tag(char kind, std::size_t bytes) {
        if (kind == '#') return read_comment(bytes);
        if (kind == '%' && read_raw(bytes)) return;
        const bool block = kind == '%';
        add(block ? Token::Kind::block_begin : Token::Kind::variable_begin, "");
        pass(bytes);
        const std::string_view close = block ? "%}" : "}}";
        brackets_.clear();
        for (;;) {
            pass_spaces();
            if (at_ == all_.size()) fail("a tag is not closed by '" + std::string(close) + "'");
            if (brackets_.empty() && pass_close(close)) break;
            read_token();
        }
    }
    // Passes the end of a tag and the line end or the white space that it takes along.
    bool pass_close(std::string_view close) {
        const bool minus = begins("-") && all_.substr(at_ + 1).starts_with(close);
        const bool plus = begins("+") && close == "%}" && all_.substr(at_ + 1).starts_with(close);
        if (!minus && !plus && !begins(close)) return false;
        add(close == "%}" ? Token::Kind::block_end : Token::Kind::variable_end, "");
        pass(close.size() + (minus || plus ? 1 : 0));
        trim_behind(minus ? '-' : plus || close == "}}" ? '+' : ' ');
        return true;
    }
    void trim_behind(char sign) {
        if (sign == '-')
            pass_spaces();
        else if (sign != '+' && begins("\n"))
            pass(1);
    }
    void read_comment(std::size_t bytes) {
        const std::size_t end = all_.find("#}", at_ + bytes);
        if (end == std::string_view::npos) fail("a comment is not closed by '#}'");
        const char sign = end > at_ + bytes ? all_[end - 1] : ' ';
        pass(end + 2 - at_);
        trim_behind(sign);
    }
    // Takes {% raw %} with what is in it. Returns false at another tag.
    bool read_raw(std::size_t bytes) {
        std::size_t begin = at_ + bytes;
        const std::optional<RawTag> open = raw_tag_at(all_, at_, "raw");
        if (!open) return false;
        for (begin = open->end; (begin = all_.find("{%", begin)) != std::string_view::npos;
             ++begin) {
            const std::optional<RawTag> close = raw_tag_at(all_, begin, "endraw");
            if (!close) continue;
            pass(open->end - at_);
            trim_behind(open->sign_at_end == '-' ? '-' : '+');
            std::string_view text =
                begin > at_ ? all_.substr(at_, begin - at_) : std::string_view();
            if (close->sign == '-')
                text.remove_suffix(spaces_at_end(text));
            else if (close->sign != '+')
                text = without_indent(text);
            if (!text.empty()) add(Token::Kind::data, text);
            pass(close->end - at_);
            trim_behind(close->sign_at_end);
            return true;
        }
        fail("a raw block is not closed by '{% endraw %}'");
    }

    void read_token() {
        const char first = all_[at_];
        if (first >= '0' && first <= '9') return read_number();
        if (const std::size_t bytes = name_bytes(all_.substr(at_)); bytes > 0) {
            add(Token::Kind::name, all_.substr(at_, bytes));
            return pass(bytes);
        }
        if (first == '\'' || first == '"') return read_text();
        for (const std::string_view operation : operators) {
            if (!begins(operation) || operation == "{%" || operation == "{{") continue;
            balance(operation);
            add(Token::Kind::operation, operation);
            return pass(operation.size());
        }
        if (begins("!")) fail("unexpected character '!'");
        const std::size_t bytes = character_bytes(all_.substr(at_));
        fail("unexpected character '" + shown(all_.substr(at_, bytes)) + "'");
    }
    void balance(std::string_view operation) {
        constexpr std::string_view open = "([{", close = ")]}";
        if (operation.size() != 1) return;
        if (const std::size_t kind = open.find(operation); kind != std::string_view::npos)
            brackets_ += close[kind];
        else if (close.find(operation) != std::string_view::npos) {
            if (brackets_.empty() || brackets_.back() != operation.front())
                fail("unexpected '" + std::string(operation) + "'" +
                     (brackets_.empty() ? ""
                                        : std::string("; expected '") + brackets_.back() + "'"));
            brackets_.pop_back();
        }
    }
    void read_number() {
        std::string digits;
        const std::size_t bytes = number_bytes(all_.substr(at_), digits);
        Token token{.kind = Token::Kind::whole, .line = line_};
        const char *begin = digits.data(), *end = digits.data() + digits.size();
        if (digits.find_first_of(".eE") == std::string::npos) {
            if (std::from_chars(begin, end, token.whole).ec != std::errc())
                fail("the number " + shown(digits) + " has more than 64 bits");
        } else {
            token.kind = Token::Kind::real;
            if (std::from_chars(begin, end, token.real).ec != std::errc())
                fail("the number " + shown(digits) + " is too large");
        }
        tokens_.push_back(std::move(token));
        pass(bytes);
    }
    void read_text() {
        std::size_t end = at_ + 1;
        while (end < all_.size() && all_[end] != all_[at_]) end += all_[end] == '\\' ? 2 : 1;
        if (end >= all_.size()) fail("a text is not closed by its quote");
        std::string why;
        const auto text = unescaped(all_.substr(at_ + 1, end - at_ - 1), why);
        if (!text) fail(why);
        add(Token::Kind::text, *text);
        pass(end + 1 - at_);
    }

    const std::string source_;
    const std::string_view all_;
    const std::string& name_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool line_starts_ = true;  // what was passed ends with a line end
    std::string brackets_;     // the closing brackets that are expected
};

}  // namespace

void throw_bad_template(const std::string& name, int line, const std::string& what) {
    throw Error(ErrorKind::data, name + ":" + std::to_string(line) + ": " + what);
}

std::vector<Token> template_tokens(std::string_view source, const std::string& name) {
    std::string text = with_line_feeds(source);
    if (text.ends_with('\n')) text.pop_back();
    return Lexer(std::move(text), name).tokens();
}

}  // namespace lockstep::data::jinja
