// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/regex_translation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "data/patterns/property_items.hpp"
#include "data/patterns/regex_input.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view not_read = "is none that Lockstep reads";
constexpr std::string_view space_items =
    "\\t-\\r\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}";
// PCRE2 counts U+180E as white space, Unicode does not.
constexpr std::string_view not_space_items = "\\S\\x{180e}";
constexpr int max_depth = 100;

std::string literal(char32_t c) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (plain) return {static_cast<char>(c)};
    std::array<char, 8> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), static_cast<unsigned>(c), 16).ptr;
    return "\\x{" + std::string(digits.begin(), end) + "}";
}

bool is_ascii_punctuation(char32_t c) {
    return (c >= 0x20 && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') ||
           (c > 'z' && c < 0x7F);
}

enum class Case { exact, any };
enum class Place { alone, in_class };

// What an escape is: one character, or what stands for several between the brackets of a class.
struct Escape {
    char32_t character = 0;
    std::string_view items;
};

class Translation {
public:
    explicit Translation(std::string_view regex) : in_(regex) {}

    std::string run() {
        alternatives(Case::exact, 0);
        if (!in_.at_end()) {
            in_.skip(1);
            in_.refuse(in_.position() - 1, "closes no group");
        }
        return out_;
    }

private:
    // Up to a closing parenthesis or the end.
    void alternatives(Case letter_case, int depth) {
        while (!in_.at_end() && in_.peek() != ')') {
            if (in_.take("|")) {
                out_ += '|';
                before_ = 0;
                continue;
            }
            const Repeats repeats = item(letter_case, depth);
            quantifier(repeats);
        }
    }

    enum class Repeats { allowed, refused };

    Repeats item(Case letter_case, int depth) {
        const std::size_t begin = in_.position();
        switch (in_.peek()) {
            case '(':
                return group(letter_case, depth);
            case '[':
                character_class(letter_case);
                return Repeats::allowed;
            case '$':
                in_.skip(1);
                out_ += '$';
                before_ = 0;
                return Repeats::refused;
            case '\\': {
                const Escape escape = read_escape(letter_case, Place::alone);
                if (escape.items.empty())
                    add_literal(escape.character, letter_case, begin);
                else
                    add_items(escape.items);
                return Repeats::allowed;
            }
            case '.':
            case '^':
                in_.skip(1);
                in_.refuse(begin, not_read);
            case '?':
            case '*':
            case '+':
            case '{':
                in_.skip(1);
                in_.refuse(begin,
                           "repeats nothing; write it with a \\ before it if it is meant as "
                           "a character");
            default:
                add_literal(in_.take_character(), letter_case, begin);
                return Repeats::allowed;
        }
    }

    void add_items(std::string_view items) {
        out_ += "[" + std::string(items) + "]";
        before_ = 0;
    }

    // Without regard to case, Oniguruma takes one character for some pairs, "ss" for U+00DF.
    void add_literal(char32_t c, Case letter_case, std::size_t begin) {
        out_ += literal(c);
        const char before = std::exchange(before_, '\0');
        if (letter_case == Case::exact) return;
        if (c >= 0x80) in_.refuse(begin, "inside (?i:...) is none of ASCII's characters");
        const char lower = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        const std::string pair = {before, lower};
        constexpr std::string_view folded[] = {"ss", "ff", "fi", "fl", "st"};
        if (std::find(std::begin(folded), std::end(folded), pair) != std::end(folded))
            in_.refuse(begin, "inside (?i:...) makes \"" + pair +
                                  "\", for which other engines also take one character");
        before_ = lower;
    }

    Repeats group(Case letter_case, int depth) {
        const std::size_t begin = in_.position();
        struct Opening {
            std::string_view text;
            Repeats repeats;
        };
        constexpr Opening openings[] = {{"(?:", Repeats::allowed},  {"(?i:", Repeats::allowed},
                                        {"(?=", Repeats::refused},  {"(?!", Repeats::refused},
                                        {"(?<=", Repeats::refused}, {"(?<!", Repeats::refused}};
        const auto* opening = std::find_if(std::begin(openings), std::end(openings),
                                           [&](const Opening& o) { return in_.take(o.text); });
        if (opening == std::end(openings)) {
            in_.skip(in_.peek(1) != '?' ? 1 : in_.peek(2) == '<' ? 4 : 3);
            in_.refuse(begin, not_read);
        }
        if (depth == max_depth) in_.refuse(begin, "stands inside too many others");
        out_ += opening->text;
        alternatives(opening->text == "(?i:" ? Case::any : letter_case, depth + 1);
        if (!in_.take(")")) in_.refuse(begin, "is not closed");
        out_ += ')';
        return opening->repeats;
    }

    void quantifier(Repeats repeats) {
        const std::size_t begin = in_.position();
        if (in_.at_end() || std::string_view("?*+{").find(in_.peek()) == std::string_view::npos)
            return;
        before_ = 0;
        const bool counted = in_.peek() == '{';
        const bool exact = counted ? read_counts() : (in_.skip(1), false);
        if (repeats == Repeats::refused) in_.refuse(begin, "repeats something without a length");
        if (in_.peek() == '+' || in_.peek() == '?') {
            const bool lazy = in_.peek() == '?';
            in_.skip(1);
            if (counted && !lazy)
                in_.refuse(begin, "repeats the repetition here and is possessive elsewhere");
            if (exact) in_.refuse(begin, "is optional here and lazy elsewhere");
        }
        out_ += in_.since(begin);
        if (in_.at_end() || std::string_view("?*+{").find(in_.peek()) == std::string_view::npos)
            return;
        in_.skip(1);
        in_.refuse(begin, "repeats a repetition");
    }

    // Reads {n}, {n,} or {n,m}. Returns true for the first.
    bool read_counts() {
        const std::size_t begin = in_.position();
        const std::string_view text = in_.take_through('}');
        unsigned least = 0, most = 0;
        const char *at = text.data() + 1, *end = text.data() + text.size() - 1;
        const auto number = [&](unsigned& value) {
            const auto read = std::from_chars(at, end, value);
            if (read.ec != std::errc() || value > 65535)
                in_.refuse(begin, "is no {n}, {n,} or {n,m} up to 65535");
            at = read.ptr;
        };
        if (text.back() != '}') in_.refuse(begin, "is no {n}, {n,} or {n,m} up to 65535");
        number(least);
        if (at == end) return true;
        if (*at++ != ',') in_.refuse(begin, "is no {n}, {n,} or {n,m} up to 65535");
        if (at == end) return false;
        number(most);
        if (at != end) in_.refuse(begin, "is no {n}, {n,} or {n,m} up to 65535");
        if (most < least) in_.refuse(begin, "has its larger number first");
        return false;
    }

    Escape read_escape(Case letter_case, Place place) {
        const std::size_t begin = in_.position();
        in_.skip(1);
        if (in_.at_end()) in_.refuse(begin, "escapes nothing");
        const char32_t c = in_.take_character();
        switch (c) {
            case 'r':
                return {U'\r', {}};
            case 'n':
                return {U'\n', {}};
            case 't':
                return {U'\t', {}};
            case 's':
                return {0, space_items};
            case 'S':
                return {0, not_space_items};
            case 'd':
                return {0, items_of("Nd")};
            case 'w':
                return {0, items_of(place == Place::in_class ? "[w]" : "w")};
            case 'p':
                return property(letter_case, begin);
            default:
                break;
        }
        if (!is_ascii_punctuation(c)) in_.refuse(begin, not_read);
        return {c, {}};
    }

    static std::string_view items_of(std::string_view name) {
        const auto found = std::find_if(property_items.begin(), property_items.end(),
                                        [&](const PropertyItems& p) { return p.name == name; });
        return found == property_items.end() ? std::string_view() : found->items;
    }

    Escape property(Case letter_case, std::size_t begin) {
        if (!in_.take("{")) in_.refuse(begin, not_read);
        const std::string_view name = in_.take_through('}');
        if (!name.ends_with('}')) in_.refuse(begin, "is not closed");
        const std::string_view items = items_of(name.substr(0, name.size() - 1));
        if (name == "w}" || name == "[w]}" || items.empty()) in_.refuse(begin, not_read);
        if (letter_case == Case::any)
            in_.refuse(begin, "inside (?i:...) means other characters to other engines");
        return {0, items};
    }

    void character_class(Case letter_case) {
        const std::size_t begin = in_.position();
        in_.skip(1);
        out_ += in_.take("^") ? "[^" : "[";
        if (in_.take("]")) in_.refuse(begin, "is an empty class, or one that begins with ]");
        bool first = true;
        while (!in_.take("]")) {
            if (in_.at_end()) in_.refuse(begin, "is not closed");
            class_item(letter_case, first);
            first = false;
        }
        out_ += ']';
        before_ = 0;
    }

    void class_item(Case letter_case, bool first) {
        const std::size_t begin = in_.position();
        const Escape item = class_member(letter_case);
        const bool bare_dash = in_.since(begin) == "-";
        if (bare_dash && !first && in_.peek() != ']')
            in_.refuse(begin,
                       "in a class is neither its first nor its last character, and no range");
        const bool range = in_.peek() == '-' && in_.peek(1) != ']';
        if (!range) {
            out_ += item.items.empty() ? literal(item.character) : std::string(item.items);
            return;
        }
        in_.skip(1);
        const Escape last = in_.at_end() ? Escape{} : class_member(letter_case);
        const bool characters = item.items.empty() && last.items.empty() && !bare_dash;
        if (!characters || last.character < item.character)
            in_.refuse(begin, "is no range of characters");
        out_ += literal(item.character) + "-" + literal(last.character);
    }

    Escape class_member(Case letter_case) {
        const std::size_t begin = in_.position();
        if (in_.take("[:")) {
            in_.take_through(']');
            in_.refuse(begin, not_read);
        }
        if (in_.take("[")) in_.refuse(begin, "is a class inside a class");
        if (in_.take("&&")) in_.refuse(begin, "is an intersection of classes");
        if (in_.peek() == '\\') return read_escape(letter_case, Place::in_class);
        const char32_t c = in_.take_character();
        if (letter_case == Case::any && c >= 0x80)
            in_.refuse(begin, "inside (?i:...) is none of ASCII's characters");
        return {c, {}};
    }

    RegexInput in_;
    std::string out_;
    char before_ = 0;  // the literal before, if case does not matter and nothing stands between
};

}  // namespace

std::string pcre2_regex(std::string_view regex) { return Translation(regex).run(); }

}  // namespace lockstep::data
