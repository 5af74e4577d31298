// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/tokenizer_json/raw_file.hpp"

namespace lockstep::data {

// Returns the tokens of "added_tokens_decoder" in the folder's tokenizer_config.json by their ids,
// in the form of "added_tokens" of a tokenizer.json. Throws a data error if it is no object of ids
// and tokens.
std::vector<nlohmann::json> described_tokens(const std::string& folder);

// Adds those that the tokenizer's file does not have, as transformers does. Throws a data error
// for an id that transformers would not give.
void add_described_tokens(const std::string& folder, RawTokenizerFile& file);

}  // namespace lockstep::data
