// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/text/text_tokens.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::data {

// "2.7 % __unk__".
std::string unknown_text(const TextTokens& tokens);

// Says in one line when a split has many unknown words, and what the reason seems to be.
// `dict_file` is where the dictionary was read; empty where it was made of the text.
void warn_of_unknown(const std::string& split, const TextTokens& tokens, const Tokenizer& tokenizer,
                     const std::string& dict_file, Log& log);

}  // namespace lockstep::data
