// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/nfc.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "data/patterns/class_tables.hpp"
#include "data/patterns/nfc_tables.hpp"
#include "data/patterns/utf8.hpp"

namespace lockstep::data {
namespace {

// Hangul's syllables are composed by arithmetic (the Unicode standard, 3.12).
constexpr char32_t syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, trails = 0x11A7;
constexpr char32_t vowel_count = 21, trail_count = 28, lead_count = 19;
constexpr char32_t syllable_count = lead_count * vowel_count * trail_count;

struct Mark {
    char32_t code_point;
    unsigned char combining_class;
};

unsigned char combining_class(char32_t c) noexcept {
    const auto after =
        std::upper_bound(combining_ranges.begin(), combining_ranges.end(), c,
                         [](char32_t value, const CombiningRange& r) { return value < r.first; });
    if (after == combining_ranges.begin()) return 0;
    const CombiningRange& range = *(after - 1);
    return c <= range.last ? range.combining_class : 0;
}

void decompose(char32_t c, std::vector<Mark>& out) {
    if (c >= syllables && c < syllables + syllable_count) {
        const char32_t index = c - syllables, trail = index % trail_count;
        out.push_back({leads + index / (vowel_count * trail_count), 0});
        out.push_back({vowels + index / trail_count % vowel_count, 0});
        if (trail != 0) out.push_back({trails + trail, 0});
        return;
    }
    const auto found =
        std::lower_bound(decompositions.begin(), decompositions.end(), c,
                         [](const Decomposition& d, char32_t value) { return d.composed < value; });
    if (found == decompositions.end() || found->composed != c) {
        out.push_back({c, combining_class(c)});
        return;
    }
    decompose(found->first, out);
    if (found->second != 0) decompose(found->second, out);
}

// Returns 0 if the two do not make one character.
char32_t composed(char32_t first, char32_t second) noexcept {
    if (first >= leads && first < leads + lead_count && second >= vowels &&
        second < vowels + vowel_count)
        return syllables + ((first - leads) * vowel_count + second - vowels) * trail_count;
    const bool open = first >= syllables && first < syllables + syllable_count &&
                      (first - syllables) % trail_count == 0;
    if (open && second > trails && second < trails + trail_count) return first + second - trails;
    const auto key = std::make_tuple(first, second);
    const auto found =
        std::lower_bound(compositions.begin(), compositions.end(), key,
                         [](const Decomposition& d, const std::tuple<char32_t, char32_t>& value) {
                             return std::make_tuple(d.first, d.second) < value;
                         });
    const bool there =
        found != compositions.end() && found->first == first && found->second == second;
    return there ? found->composed : 0;
}

// Marks after the same character stand in the order of their classes.
void order_marks(std::vector<Mark>& marks) {
    const auto is_starter = [](const Mark& m) { return m.combining_class == 0; };
    for (auto begin = marks.begin(); begin != marks.end();) {
        begin = std::find_if_not(begin, marks.end(), is_starter);
        const auto end = std::find_if(begin, marks.end(), is_starter);
        std::stable_sort(begin, end, [](const Mark& a, const Mark& b) {
            return a.combining_class < b.combining_class;
        });
        begin = end;
    }
}

// A mark joins the last starter unless one of its own class, or a starter, stands between.
void compose(std::vector<Mark>& marks) {
    std::size_t kept = 0, starter = 0;
    bool has_starter = false;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const Mark mark = marks[i];
        const bool reaches =
            has_starter &&
            (kept == starter + 1 || marks[kept - 1].combining_class < mark.combining_class);
        if (reaches)
            if (const char32_t c = composed(marks[starter].code_point, mark.code_point)) {
                marks[starter].code_point = c;
                continue;
            }
        if (mark.combining_class == 0) {
            starter = kept;
            has_starter = true;
        }
        marks[kept++] = mark;
    }
    marks.resize(kept);
}

void append_composed(std::string_view part, std::vector<Mark>& marks, std::string& out) {
    marks.clear();
    for (std::size_t at = 0; at < part.size();) {
        const utf8::Character c = utf8::character_at(part, at);
        decompose(c.code_point, marks);
        at += c.bytes;
    }
    order_marks(marks);
    compose(marks);
    for (const Mark& mark : marks) utf8::append(mark.code_point, out);
}

bool is_unsettled(std::string_view text, std::size_t at) noexcept {
    return (classes_of(utf8::character_at(text, at).code_point) & unsettled_class) != 0;
}

std::size_t next_unsettled(std::string_view text, std::size_t at) noexcept {
    while (at < text.size()) {
        const utf8::Character c = utf8::character_at(text, at);
        if (c.bytes > 1 && (classes_of(c.code_point) & unsettled_class) != 0) break;
        at += c.bytes;
    }
    return at;
}

}  // namespace

std::string nfc(std::string_view text) {
    std::string out;
    std::vector<Mark> marks;
    std::size_t done = 0, at = 0;
    while ((at = next_unsettled(text, at)) < text.size()) {
        // What is settled joins nothing before it, so a part begins there.
        const std::size_t begin = at > done ? utf8::last_before(text, at) : at;
        while (at < text.size() && is_unsettled(text, at)) at += utf8::character_at(text, at).bytes;
        out += text.substr(done, begin - done);
        append_composed(text.substr(begin, at - begin), marks, out);
        done = at;
    }
    out += text.substr(done);
    return out;
}

}  // namespace lockstep::data
