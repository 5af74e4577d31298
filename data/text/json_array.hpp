// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::data {

// Turns the text of a JSON array into lines with an element each, as far as it can tell without
// reading the elements. An element that spans lines is followed by as many empty ones, so that each
// line keeps its number; only where several elements stand on one line it does not.
class ArrayLines {
public:
    // Tells whether a text that begins so is an array: its first character but white space is '['.
    static bool begins(std::string_view text) noexcept;

    // Takes the next part of the text, and appends to `lines`.
    void add(std::string_view text, std::string& lines);
    // Says what is wrong with the commas between the elements; empty: nothing so far. No text is
    // taken behind such a place, which is in the last one of the lines.
    const std::string& fault() const noexcept { return fault_; }
    // Tells whether the array has ended.
    bool closed() const noexcept { return place_ == Place::behind; }

private:
    void add_between(char byte, std::string& lines);
    void add_inside(char byte, std::string& lines);

    enum class Next { first_element, comma, element } next_ = Next::first_element;
    std::string fault_;
    enum class Place { before, between, inside, behind } place_ = Place::before;
    enum class InText { no, yes, escape } in_text_ = InText::no;
    int depth_ = 0;
    std::size_t feeds_ = 0;      // line feeds of the element, which follow it
    bool line_is_used_ = false;  // an element has ended on this line
};

}  // namespace lockstep::data
