// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/known_patterns.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#include "data/patterns/class_tables.hpp"
#include "data/patterns/utf8.hpp"

namespace lockstep::data {
namespace {

constexpr PatternMatch no_match{std::string_view::npos, std::string_view::npos};
constexpr std::size_t no_limit = std::string_view::npos;

// The characters that have one of the classes `any_of`, or, without those, none of `none_of`.
template <unsigned any_of, unsigned none_of = 0>
struct CharacterSet {
    static constexpr bool holds(unsigned classes) noexcept {
        return any_of != 0 ? (classes & any_of) != 0 : (classes & none_of) == 0;
    }
};

using Space = CharacterSet<space_class>;
using Number = CharacterSet<number_class>;

unsigned char byte_at(std::string_view text, std::size_t at) noexcept {
    return static_cast<unsigned char>(text[at]);
}

unsigned classes_at(std::string_view text, std::size_t at) noexcept {
    return classes_of(utf8::character_at(text, at).code_point);
}

// Returns how many of the eight bytes at `at` are letters of ASCII before one that is none. One
// test of eight bytes takes half the time of eight tests, of which the last is hard to predict.
std::size_t ascii_letters(std::string_view text, std::size_t at) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101ull, tops = 0x80 * ones;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    const std::uint64_t lower = (bytes | 0x20 * ones) & ~tops;
    const std::uint64_t from_a = lower + (0x80 - 'a') * ones, after_z = lower + (0x7F - 'z') * ones;
    const std::uint64_t others = (~from_a | after_z | bytes) & tops;
    return static_cast<std::size_t>(std::countr_zero(others)) / 8;
}

// Returns the end of the run of characters of the set that begins at `at`, of `limit` at most.
template <class Set>
std::size_t run_end(std::string_view text, std::size_t at, std::size_t limit = no_limit) noexcept {
    if constexpr (Set::holds(letter_class) && std::endian::native == std::endian::little)
        while (at + 8 <= text.size()) {
            const std::size_t letters = ascii_letters(text, at);
            at += letters;
            if (letters < 8) break;
        }
    for (; at < text.size() && limit > 0; --limit) {
        const unsigned char byte = byte_at(text, at);
        if (byte < 0x80) {
            if (!Set::holds(ascii_classes[byte])) return at;
            ++at;
            continue;
        }
        const utf8::Character c = utf8::character_at(text, at);
        if (!Set::holds(classes_of(c.code_point))) return at;
        at += c.bytes;
    }
    return at;
}

// `\s+(?!\S)|\s+`: a run leaves its last character to what follows it.
std::size_t space_end(std::string_view text, std::size_t at, std::size_t end) noexcept {
    if (end == text.size()) return end;
    const std::size_t last = utf8::last_before(text, end);
    return last > at ? last : end;
}

enum class LetterCase { exact, any };

// Returns the length of 's, 't, 're, 've, 'm, 'll or 'd at `at`, where an apostrophe stands; else
// 0. Of any case, the long s (U+017F) is an s.
template <LetterCase letter_case>
std::size_t contraction(std::string_view text, std::size_t at) noexcept {
    const auto letter = [&](std::size_t i) {
        if (at + i >= text.size()) return 0;
        const int c = byte_at(text, at + i);
        return letter_case == LetterCase::any && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    };
    switch (letter(1)) {
        case 's':
        case 't':
        case 'm':
        case 'd':
            return 2;
        case 'r':
        case 'v':
            return letter(2) == 'e' ? 3 : 0;
        case 'l':
            return letter(2) == 'l' ? 3 : 0;
        case 0xC5:
            return letter_case == LetterCase::any && letter(2) == 0xBF ? 3 : 0;
        default:
            return 0;
    }
}

class Gpt2Scanner : public SplitPattern {
public:
    PatternMatch next(std::string_view text, std::size_t from) const override {
        if (from >= text.size()) return no_match;
        return {from, end_of(text, from)};
    }

private:
    using Letter = CharacterSet<letter_class>;
    using Other = CharacterSet<0, space_class | letter_class | number_class>;

    static std::size_t end_of(std::string_view text, std::size_t from) noexcept {
        if (text[from] == '\'')
            if (const std::size_t bytes = contraction<LetterCase::exact>(text, from))
                return from + bytes;
        const std::size_t at = from + (text[from] == ' ' && from + 1 < text.size() ? 1 : 0);
        const unsigned classes = classes_at(text, at);
        if (Letter::holds(classes)) return run_end<Letter>(text, at);
        if (Number::holds(classes)) return run_end<Number>(text, at);
        if (!Space::holds(classes)) return run_end<Other>(text, at);
        return space_end(text, from, run_end<Space>(text, from));
    }
};

// LLaMA 3, Qwen and their relatives. `letters` are the classes that make words.
template <unsigned letters, std::size_t max_digits>
class LlamaScanner : public SplitPattern {
public:
    PatternMatch next(std::string_view text, std::size_t from) const override {
        if (from >= text.size()) return no_match;
        return {from, end_of(text, from)};
    }

private:
    using Letter = CharacterSet<letters>;
    using Other = CharacterSet<0, space_class | letters | number_class>;

    static std::size_t end_of(std::string_view text, std::size_t from) noexcept {
        const utf8::Character c = utf8::character_at(text, from);
        if (c.code_point == '\'')
            if (const std::size_t bytes = contraction<LetterCase::any>(text, from))
                return from + bytes;
        const unsigned classes = classes_of(c.code_point);
        if (Letter::holds(classes)) return run_end<Letter>(text, from + c.bytes);
        if (Number::holds(classes)) return run_end<Number>(text, from, max_digits);
        const std::size_t after = from + c.bytes;
        const unsigned next_classes = after < text.size() ? classes_at(text, after) : space_class;
        const bool breaks_line = c.code_point == '\r' || c.code_point == '\n';
        if (!breaks_line && Letter::holds(next_classes)) return run_end<Letter>(text, after);
        if (!Space::holds(classes) || (c.code_point == ' ' && Other::holds(next_classes)))
            return line_breaks_end(text, run_end<Other>(text, after));
        return white_space_end(text, from);
    }

    static std::size_t line_breaks_end(std::string_view text, std::size_t at) noexcept {
        while (at < text.size() && (text[at] == '\r' || text[at] == '\n')) ++at;
        return at;
    }

    // `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the run's last line break if it has one.
    static std::size_t white_space_end(std::string_view text, std::size_t from) noexcept {
        const std::size_t end = run_end<Space>(text, from);
        const std::size_t line_break = text.substr(from, end - from).find_last_of("\r\n");
        if (line_break != std::string_view::npos) return from + line_break + 1;
        return space_end(text, from, end);
    }
};

}  // namespace

std::unique_ptr<SplitPattern> make_known_pattern(std::string_view regex) {
    if (regex == gpt2_pattern) return std::make_unique<Gpt2Scanner>();
    if (regex == llama3_pattern) return std::make_unique<LlamaScanner<letter_class, 3>>();
    if (regex == qwen2_pattern) return std::make_unique<LlamaScanner<letter_class, 1>>();
    if (regex == qwen35_pattern)
        return std::make_unique<LlamaScanner<letter_class | mark_class, 1>>();
    return nullptr;
}

}  // namespace lockstep::data
