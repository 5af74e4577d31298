// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::train {

// Lower-cases UTF-8 text. lower_ascii leaves everything beyond ASCII as it is.
using Lower = std::function<std::string(std::string_view)>;
std::string lower_ascii(std::string_view text);

// ParlAI's normalisation before comparing answers: lower case, ASCII punctuation and the articles
// a, an, the become spaces, runs of white space become one space, none at the ends.
std::string normalize_answer(std::string_view text, const Lower& lower = lower_ascii);

using Tokens = std::vector<std::string>;

// A normalised text and its words: none of an empty text.
struct NormalText {
    std::string text;
    Tokens words;

    explicit NormalText(std::string_view written, const Lower& lower = lower_ascii);
    // Splits at blanks; no token is empty.
    static Tokens split(std::string_view text);
};

}  // namespace lockstep::train
