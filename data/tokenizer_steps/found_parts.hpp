// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/patterns/split_pattern.hpp"
#include "data/tokenizer_steps/json_part.hpp"

namespace lockstep::data {

// Makes the pattern that {"String": "..."} or {"Regex": "..."} describes.
std::unique_ptr<SplitPattern> make_text_pattern(const JsonPart& part);

// Gives the matches of a pattern in a text one after the other. A match may be empty, but not
// directly behind another one.
class Matches {
public:
    Matches(std::string_view text, const SplitPattern& pattern) : text_(text), pattern_(pattern) {}

    // Returns false if there is no further match.
    bool next(PatternMatch& match);

private:
    std::string_view text_;
    const SplitPattern& pattern_;
    std::size_t from_ = 0, last_end_ = std::string_view::npos;
};

// A part of a text that a pattern matches, or one between two matches.
struct FoundPart {
    std::string_view text;
    enum class Kind { between, match } kind;
};

// Divides a text that is not empty into matches and what is between them.
void find_parts(std::string_view text, const SplitPattern& pattern, std::vector<FoundPart>& parts);

// Returns the text with each match replaced.
std::string replaced(std::string_view text, const SplitPattern& pattern, std::string_view content);

}  // namespace lockstep::data
