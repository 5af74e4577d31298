// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/tokenizer_json/raw_file.hpp"
#include "data/tokenizer_json/special_tokens.hpp"

namespace lockstep::data {

// Reads vocab.json, merges.txt and added_tokens.json of a folder that has no tokenizer.json, and
// returns the tokenizer.json that its class would have. Throws a data error that names the file, or
// a class of which the rules are not known.
RawTokenizerFile read_plain_files(const TokenizerFacts& facts);

}  // namespace lockstep::data
