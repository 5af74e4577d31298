// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::launcher {

// Holds the texts at which replies end. A tokenizer of words puts blanks between them, so that a
// text is also found as its own words decode: "\n\n" as "\n \n".
class StopTexts {
public:
    // The tokenizer must outlive the object.
    StopTexts(const data::Tokenizer& tokenizer, const std::vector<std::string>& texts);

    bool empty() const noexcept { return forms_.empty(); }

    // Tells whether one of the texts stands in the text of `tokens`, if none stands in that of the
    // tokens without the last one. Its time does not depend on the number of tokens. Several
    // threads may call it.
    bool are_at_end(std::span<const std::int32_t> tokens) const;

    // Returns how many bytes at the end of the text are the beginning of one of the texts.
    std::size_t begun_bytes(std::string_view text) const noexcept;

    // Returns the part of the text before the first of them; all of it if it has none.
    std::string cut(std::string text) const;

private:
    std::size_t first_in(std::string_view text) const noexcept;

    const data::Tokenizer& tokenizer_;
    std::vector<std::string> forms_;
    std::size_t longest_bytes_ = 0;
};

}  // namespace lockstep::launcher
