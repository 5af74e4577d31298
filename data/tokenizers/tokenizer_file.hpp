// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/storage/special_tokens.hpp"

namespace lockstep::data {

// Holds the contents of tokenizer.json, or of lockstep_tokenizer.json beside a tokenizer in Hugging
// Face's form.
struct TokenizerFile {
    std::string name;
    std::string file;  // in the same directory
    std::uint64_t hash = 0;
    std::string letter_case;  // "lower" or "keep"
    SpecialTokens special;
    // Hugging Face's form only: of the config.json of the model; may be empty.
    std::string model_type = {};
    // Begins each reply of the model; nothing: the model chooses.
    std::optional<std::int32_t> reply_begin = {};
};

// The name of a tokenizer in Hugging Face's form.
inline constexpr const char* huggingface_name = "huggingface";

void write_tokenizer_file(const std::string& directory, const TokenizerFile& content);
// Tells whether the directory holds a tokenizer in Hugging Face's form that Lockstep has not
// described.
bool holds_huggingface_tokenizer(const std::string& directory);
// Throws a data error if a file of such a tokenizer is a link to nowhere.
void refuse_broken_links(const std::string& directory);
// Returns the name of the file that describes the directory's tokenizer.
std::string tokenizer_file_in(const std::string& directory);
// Throws an error that names the file.
TokenizerFile read_tokenizer_file(const std::string& directory);

}  // namespace lockstep::data
