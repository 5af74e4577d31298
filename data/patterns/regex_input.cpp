// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/regex_input.hpp"

#include <string>

#include "data/patterns/utf8.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {

bool RegexInput::take(std::string_view text) noexcept {
    if (!begins_with(text)) return false;
    at_ += text.size();
    return true;
}

char32_t RegexInput::take_character() noexcept {
    const utf8::Character c = utf8::character_at(regex_, at_);
    at_ += c.bytes;
    return c.code_point;
}

std::string_view RegexInput::take_through(char last) noexcept {
    const std::size_t begin = at_, end = regex_.find(last, at_);
    at_ = end == std::string_view::npos ? regex_.size() : end + 1;
    return since(begin);
}

void RegexInput::refuse(std::size_t begin, std::string_view why) const {
    constexpr std::size_t shown = 40;
    std::string_view what = since(begin);
    if (what.size() > shown) what = what.substr(0, utf8::last_before(what, shown + 1));
    throw Error(
        ErrorKind::data,
        "\"" + std::string(what) + "\" at byte " + std::to_string(begin) +
            " of the regular expression " + std::string(why) +
            "; Lockstep reads literals, classes with \\p{...}, \\s \\S \\d \\w \\r \\n \\t, "
            "(?:...), (?i:...), alternatives, ? * + {n,m} and their lazy forms, ?+ *+ ++, "
            "look-ahead, look-behind and $");
}

}  // namespace lockstep::data
