// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::train {

// Converts UTF-8 text to lower case. lower_ascii leaves all characters beyond ASCII unchanged.
using Lower = std::function<std::string(std::string_view)>;
std::string lower_ascii(std::string_view text);

// Normalises an answer as ParlAI does before it compares answers. The text becomes lower case;
// ASCII punctuation and the articles a, an, the become spaces; each run of white space becomes one
// space, with none at the ends.
std::string normalize_answer(std::string_view text, const Lower& lower = lower_ascii);

using Tokens = std::vector<std::string>;

// Holds a normalised text and its words; an empty text has no words.
struct NormalText {
    std::string text;
    Tokens words;

    explicit NormalText(std::string_view written, const Lower& lower = lower_ascii);
    // Splits the text at blanks; no word is empty.
    static Tokens split(std::string_view text);
};

}  // namespace lockstep::train
