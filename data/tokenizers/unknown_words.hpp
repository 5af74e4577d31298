// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/text/text_tokens.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::data {

// Tells whether the tokenizer is a dictionary of the special tokens alone.
bool has_no_words(const Tokenizer& tokenizer);

// Returns a text such as "2.7 % __unk__".
std::string unknown_text(const TextTokens& tokens);

// Warns in one line if a split has many unknown words, and names the likely reason. `dict_file` is
// the file the dictionary was read from; empty if it was made from the text.
void warn_of_unknown(const std::string& split, const TextTokens& tokens, const Tokenizer& tokenizer,
                     const std::string& dict_file, Log& log);

}  // namespace lockstep::data
