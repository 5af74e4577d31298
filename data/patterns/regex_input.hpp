// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace lockstep::data {

// A regular expression that is read from its beginning to its end.
class RegexInput {
public:
    explicit RegexInput(std::string_view regex) noexcept : regex_(regex) {}

    bool at_end() const noexcept { return at_ == regex_.size(); }
    bool begins_with(std::string_view text) const noexcept {
        return regex_.substr(at_).starts_with(text);
    }
    // Returns the byte at `ahead` from here, NUL behind the end.
    char peek(std::size_t ahead = 0) const noexcept {
        return at_ + ahead < regex_.size() ? regex_[at_ + ahead] : '\0';
    }
    std::size_t position() const noexcept { return at_; }
    std::string_view since(std::size_t begin) const noexcept {
        return regex_.substr(begin, at_ - begin);
    }

    void skip(std::size_t bytes) noexcept { at_ += bytes; }
    bool take(std::string_view text) noexcept;
    char32_t take_character() noexcept;
    // Returns the text up to and with `last`, all of the rest if it is not there.
    std::string_view take_through(char last) noexcept;

    // Throws the data error for the construct that begins at `begin` and ends here.
    [[noreturn]] void refuse(std::size_t begin, std::string_view why) const;

private:
    std::string_view regex_;
    std::size_t at_ = 0;
};

}  // namespace lockstep::data
