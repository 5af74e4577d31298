// SPDX-License-Identifier: Apache-2.0
#include "data/templates/text_operations.hpp"

#include <cstring>

#include "data/jinja/characters.hpp"
#include "data/text/unicode.hpp"

namespace lockstep::data::jinja {
namespace {

bool in_set(std::string_view character, const Text& set) {
    return find_text(set.bytes(), character, 0) != std::string_view::npos;
}

std::size_t set_at_begin(Machine& machine, std::string_view text, const Text& set) {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const std::size_t next = character_bytes(text.substr(bytes));
        machine.work(set.size());
        if (!in_set(text.substr(bytes, next), set)) break;
        bytes += next;
    }
    return bytes;
}

std::size_t set_at_end(Machine& machine, std::string_view text, const Text& set) {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const std::string_view rest = text.substr(0, text.size() - bytes);
        const std::size_t last = last_character_bytes(rest);
        machine.work(set.size());
        if (!in_set(rest.substr(rest.size() - last), set)) break;
        bytes += last;
    }
    return bytes;
}

std::vector<Value> split_at_spaces(Machine& machine, const Text& text, std::int64_t most) {
    std::vector<Value> parts;
    const std::string_view all = text.bytes();
    std::size_t at = spaces_at_begin(all);
    while (at < all.size()) {
        machine.step();
        std::size_t end = at;
        if (most >= 0 && parts.size() == static_cast<std::size_t>(most))
            end = all.size() - spaces_at_end(all);
        while (end < all.size() && spaces_at_begin(all.substr(end, 4)) == 0)
            end += character_bytes(all.substr(end));
        parts.push_back(machine.text(text.part(at, end)));
        at = end + spaces_at_begin(all.substr(end));
    }
    return parts;
}

char upper_letter(char letter) noexcept {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

char lower_letter(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

std::size_t find_text(std::string_view all, std::string_view what, std::size_t from) noexcept {
    if (from > all.size()) return std::string_view::npos;
    if (what.empty()) return from;
    const void* found = ::memmem(all.data() + from, all.size() - from, what.data(), what.size());
    return found == nullptr
               ? std::string_view::npos
               : static_cast<std::size_t>(static_cast<const char*>(found) - all.data());
}

Text stripped(Machine& machine, const Text& text, Side side, const Text* set) {
    const std::string_view all = text.bytes();
    machine.work(all.size());
    std::size_t begin = 0, end = 0;
    if (side != Side::right)
        begin = set == nullptr ? spaces_at_begin(all) : set_at_begin(machine, all, *set);
    const std::string_view rest = all.substr(begin);
    if (side != Side::left)
        end = set == nullptr ? spaces_at_end(rest) : set_at_end(machine, rest, *set);
    return text.part(begin, all.size() - end);
}

std::vector<Value> split(Machine& machine, const Text& text, const Text* separator,
                         std::int64_t most) {
    machine.work(text.size());
    if (separator == nullptr) return split_at_spaces(machine, text, most);
    if (separator->empty()) machine.fail("split() needs a separator that is not empty");
    std::vector<Value> parts;
    std::size_t at = 0;
    while (most < 0 || parts.size() < static_cast<std::size_t>(most)) {
        const std::size_t found = find_text(text.bytes(), separator->bytes(), at);
        if (found == std::string_view::npos) break;
        machine.step();
        parts.push_back(machine.text(text.part(at, found)));
        at = found + separator->size();
    }
    parts.push_back(machine.text(text.part(at, text.size())));
    return parts;
}

std::vector<Value> lines_of(Machine& machine, const Text& text) {
    std::vector<Value> lines;
    const std::string& all = text.bytes();
    for (std::size_t at = 0; at < all.size();) {
        machine.step();
        std::size_t end = all.find_first_of("\r\n", at);
        if (end == std::string::npos) end = all.size();
        lines.push_back(machine.text(text.part(at, end)));
        at = end + (all.compare(end, 2, "\r\n") == 0 ? 2 : 1);
    }
    return lines;
}

std::vector<Value> characters_of(Machine& machine, const Text& text) {
    std::vector<Value> characters;
    const std::string_view all = text.bytes();
    constexpr std::size_t bytes_of_a_character = 64;  // of memory
    machine.work(all.size() * bytes_of_a_character);
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t bytes = character_bytes(all.substr(at));
        characters.push_back(machine.text(text.part(at, at + bytes)));
        at += bytes;
    }
    return characters;
}

Text replaced(Machine& machine, const Text& text, const Text& old, const Text& by,
              std::int64_t most) {
    if (old.empty()) machine.fail("replace() needs a text that is not empty");
    machine.work(text.size());
    Text out;
    std::size_t at = 0;
    for (std::int64_t done = 0; most < 0 || done < most; ++done) {
        const std::size_t found = find_text(text.bytes(), old.bytes(), at);
        if (found == std::string_view::npos) break;
        machine.work(1 + by.size());
        machine.append(out, text, at, found);
        machine.append(out, by);
        at = found + old.size();
    }
    machine.append(out, text, at, text.size());
    return out;
}

std::int64_t count_of(Machine& machine, const Text& text, const Text& what) {
    machine.work(text.size());
    if (what.empty()) return static_cast<std::int64_t>(count_characters(text.bytes())) + 1;
    std::int64_t count = 0;
    for (std::size_t at = 0;; ++count) {
        at = find_text(text.bytes(), what.bytes(), at);
        if (at == std::string_view::npos) return count;
        at += what.size();
    }
}

Text in_case(Machine& machine, const Text& text, Case letters) {
    machine.work(text.size());
    const bool ascii = unicode::is_ascii(text.bytes());
    if (!ascii && letters != Case::lower)
        machine.fail("upper-case letters are only made of ASCII; take the filter out");
    if (!ascii) {
        const unsigned marks = text.runs().empty() ? unmarked : text.runs().front().marks;
        return Text(unicode::lower(text.bytes()), marks);
    }
    Text out;
    bool begins = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char letter = text.bytes()[i], low = lower_letter(letter);
        const bool up = letters == Case::upper || (letters != Case::lower && begins);
        const char changed = up ? upper_letter(letter) : low;
        out.append({&changed, 1}, text.marks_at(i));
        begins = letters == Case::title && !(low >= 'a' && low <= 'z');
    }
    return out;
}

}  // namespace lockstep::data::jinja
