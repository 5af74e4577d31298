// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/literals.hpp"

#include <algorithm>
#include <charconv>

#include "data/jinja/characters.hpp"
#include "data/text/unicode.hpp"

namespace lockstep::data::jinja {
namespace {

constexpr std::string_view simple_escapes = "abfnrtv\\'\"";
constexpr std::string_view simple_values = "\a\b\f\n\r\t\v\\'\"";

bool digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }

// Passes digits with single underscores between them.
std::size_t digits_at(std::string_view text, std::size_t at) noexcept {
    while (at < text.size() &&
           (digit(text[at]) || (text[at] == '_' && at > 0 && digit(text[at - 1]) &&
                                at + 1 < text.size() && digit(text[at + 1]))))
        ++at;
    return at;
}

// Appends the character of a numeric escape, which begins at `at`. Returns its end; 0: it is wrong.
std::size_t append_code(std::string_view text, std::size_t at, std::string& out) {
    const char kind = text[at];
    const bool octal = kind >= '0' && kind <= '7';
    const std::size_t begin = octal ? at : at + 1;
    const std::size_t most = octal ? 3 : kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
    const std::string_view digits = text.substr(begin, most);
    unsigned long code = 0;
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, octal ? 8 : 16);
    const auto bytes = static_cast<std::size_t>(read.ptr - digits.data());
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    if (bytes == 0 || (!octal && bytes != most) || code > 0x10FFFF || surrogate) return 0;
    unicode::append(static_cast<char32_t>(code), out);
    return begin + bytes;
}

}  // namespace

std::optional<std::string> unescaped(std::string_view quoted, std::string& why) {
    std::string out;
    for (std::size_t i = 0; i < quoted.size();) {
        if (quoted[i] != '\\' || i + 1 == quoted.size()) {
            out += quoted[i++];
            continue;
        }
        const char kind = quoted[++i];
        if (const auto simple = simple_escapes.find(kind); simple != std::string_view::npos) {
            out += simple_values[simple];
            ++i;
        } else if (kind == '\n') {
            ++i;
        } else if (kind == 'N') {
            why = "an escape \\N in a text is not supported; write the character itself";
            return std::nullopt;
        } else if (kind == 'x' || kind == 'u' || kind == 'U' || (kind >= '0' && kind <= '7')) {
            i = append_code(quoted, i, out);
            if (i == 0) {
                why = std::string("an escape \\") + kind + " in a text is no character";
                return std::nullopt;
            }
        } else {
            out += '\\';
        }
    }
    return out;
}

std::size_t number_bytes(std::string_view text, std::string& digits) {
    std::size_t end = digits_at(text, 0);
    if (end + 1 < text.size() && text[end] == '.' && digit(text[end + 1]))
        end = digits_at(text, end + 1);
    if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E')) {
        const std::size_t sign = text[end + 1] == '+' || text[end + 1] == '-' ? 1 : 0;
        const std::size_t begin = end + 1 + sign;
        if (begin < text.size() && digit(text[begin])) end = digits_at(text, begin);
    }
    digits = text.substr(0, end);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    return end;
}

std::optional<RawTag> raw_tag_at(std::string_view source, std::size_t at, std::string_view name) {
    RawTag tag;
    at += 2;
    if (at < source.size() && (source[at] == '-' || source[at] == '+')) tag.sign = source[at++];
    if (at > source.size()) return std::nullopt;
    at += spaces_at_begin(source.substr(at));
    if (!source.substr(at).starts_with(name)) return std::nullopt;
    at += name.size();
    at += spaces_at_begin(source.substr(at));
    if (at < source.size() && (source[at] == '-' || source[at] == '+'))
        tag.sign_at_end = source[at++];
    if (!source.substr(at).starts_with("%}")) return std::nullopt;
    tag.end = at + 2;
    return tag;
}

}  // namespace lockstep::data::jinja
