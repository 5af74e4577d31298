// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::data {

// Bytes of the text. Where nothing more matches, both are std::string_view::npos.
struct PatternMatch {
    std::size_t begin, end;
};

// One regular expression of a tokenizer.json, in the syntax and with the Unicode version of
// Hugging Face's `tokenizers`.
class SplitPattern {
public:
    virtual ~SplitPattern() = default;

    // Returns what a search of Oniguruma from `from` finds first: a look-behind sees what stands
    // before `from`. `text` is valid UTF-8, and `from` is the beginning of a character or
    // text.size(). An empty match has begin == end; Oniguruma's iterator passes over one that
    // stands at the end of the match before, and searches again a character later. Several threads
    // may call it at once. Throws a data error if the search takes more steps than any pattern of a
    // published tokenizer does.
    virtual PatternMatch next(std::string_view text, std::size_t from) const = 0;
};

// Returns a scanner for `regex`, which is valid UTF-8. Throws a data error that names the construct
// if `regex` holds one that means different things to different engines, or if it is not a regular
// expression.
std::unique_ptr<SplitPattern> make_split_pattern(const std::string& regex);

}  // namespace lockstep::data
