// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

// Appends the ids of the user's --delimiter, in which the name of a special token is that token. In
// a text, which Tokenizer::encode() takes, it is a word.
void encode_delimiter(const Tokenizer& tokenizer, std::string_view text,
                      std::vector<std::int32_t>& out);

// Calls `found` for each word of the text that has the name of a special token and is therefore an
// unknown word. `offset` is the word's first byte.
using FoundSpecial = std::function<void(std::string_view name, std::size_t offset)>;
void find_specials(const Tokenizer& tokenizer, std::string_view text, const FoundSpecial& found);

// Decodes what a model reads, for people who look at rows: control tokens of a tokenizer from
// elsewhere are shown by their names, which Tokenizer::decode() leaves out.
std::string decode_with_control(const Tokenizer& tokenizer, std::span<const std::int32_t> ids);

// Returns true if encoding changes texts on purpose, so that decoding gives others.
bool normalizes(const Tokenizer& tokenizer);

}  // namespace lockstep::data
