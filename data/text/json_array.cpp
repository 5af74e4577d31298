// SPDX-License-Identifier: Apache-2.0
#include "data/text/json_array.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view json_spaces = " \t\r\n";

bool is_space(char byte) noexcept { return json_spaces.find(byte) != std::string_view::npos; }

}  // namespace

bool ArrayLines::begins(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(json_spaces);
    return first != std::string_view::npos && text[first] == '[';
}

void ArrayLines::add(std::string_view text, std::string& lines) {
    for (const char byte : text) {
        if (!fault_.empty()) return;
        if (place_ == Place::inside)
            add_inside(byte, lines);
        else if (place_ == Place::between)
            add_between(byte, lines);
        else if (place_ == Place::before && byte == '[')
            place_ = Place::between;
        else
            lines += byte;
    }
}

// What is no object becomes part of a line, which its reader refuses.
void ArrayLines::add_between(char byte, std::string& lines) {
    if (byte == '\n') {
        lines += byte;
        line_is_used_ = false;
    } else if (byte == ']') {
        if (next_ == Next::element)
            fault_ = "a comma before the ']' that closes the array; take it out";
        place_ = Place::behind;
    } else if (byte == ',') {
        if (next_ != Next::comma) fault_ = "a comma without an element before it; take it out";
        next_ = Next::element;
    } else if (!is_space(byte)) {
        if (byte == '{' && next_ == Next::comma)
            fault_ = "two elements of the array without a comma between them; write one there";
        next_ = Next::comma;
        if (line_is_used_ && byte == '{') lines += '\n';
        if (byte == '{') {
            place_ = Place::inside;
            depth_ = 1;
            feeds_ = 0;
        }
        lines += byte;
        line_is_used_ = true;
    }
}

void ArrayLines::add_inside(char byte, std::string& lines) {
    if (byte == '\n' && in_text_ == InText::no) {
        ++feeds_;
        lines += ' ';
        return;
    }
    lines += byte;
    if (in_text_ == InText::yes) {
        if (byte == '\\') in_text_ = InText::escape;
        if (byte == '"') in_text_ = InText::no;
    } else if (in_text_ == InText::escape || byte == '"') {
        in_text_ = InText::yes;
    } else if (byte == '{' || byte == '[') {
        ++depth_;
    } else if ((byte == '}' || byte == ']') && --depth_ == 0) {
        place_ = Place::between;
        lines.append(feeds_, '\n');
        if (feeds_ > 0) line_is_used_ = false;
    }
}

}  // namespace lockstep::data
