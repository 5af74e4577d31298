// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer_steps/pre_tokenizer.hpp"
#include "data/tokenizers/dictionary.hpp"

namespace lockstep::data {

// How new byte-level tokenizers split a text into words: as GPT-2's does.
PreTokenizers byte_level_splitting();

// Writes tokenizer.json and tokenizer_config.json of a byte-level BPE trained on these words, with
// at most so many tokens, which transformers' AutoTokenizer reads. A text begins and ends with
// <|endoftext|>. Returns the number of tokens.
std::int32_t write_byte_level_bpe(const std::string& folder, const std::vector<TokenCount>& words,
                                  std::int32_t vocab_size, std::int64_t min_frequency);

// Throws a config error if the bytes alone are more tokens.
void require_byte_level_size(std::int32_t vocab_size);

// Does the same for a tokenizer whose tokens are these characters, <|endoftext|> and <unk>.
std::int32_t write_character_tokenizer(const std::string& folder,
                                       const std::vector<TokenCount>& characters);

}  // namespace lockstep::data
