// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "data/storage/special_tokens.hpp"

namespace lockstep::data {

// Holds the contents of tokenizer.json.
struct TokenizerFile {
    std::string name;
    std::string file;  // in the same directory
    std::uint64_t hash = 0;
    std::string letter_case;  // "lower" or "keep"
    SpecialTokens special;
};

void write_tokenizer_file(const std::string& directory, const TokenizerFile& content);
// Throws an error that names the file.
TokenizerFile read_tokenizer_file(const std::string& directory);

}  // namespace lockstep::data
