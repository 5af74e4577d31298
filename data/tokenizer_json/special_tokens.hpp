// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/tokenizer_steps/json_part.hpp"

namespace lockstep::data {

// The contents of tokens with a role; nothing: no token has the role.
struct SpecialTokenNames {
    std::optional<std::string> begin, end, pad, unknown, separator, classifier, mask;
};

// Their ids; nothing: there is no such token.
struct SpecialTokenIds {
    std::optional<std::int32_t> begin, end, pad, unknown;
};

// What a folder's small files say of its tokenizer.
struct TokenizerFacts {
    std::string folder;
    std::string tokenizer_class;  // of tokenizer_config.json, without "Fast"; may be empty
    std::string model_type;       // of config.json; may be empty
    std::optional<bool> add_prefix_space;
    SpecialTokenNames named;     // by the files
    SpecialTokenNames by_class;  // names that the files do not mention, not even as null
};

// Reads tokenizer_config.json, special_tokens_map.json and config.json, as far as they are there.
// Names that none of them mentions are those that the tokenizer's class has by itself. `model_type`
// is that of the model that the files are from, where its config.json is not beside them. Throws a
// data error that names the file and the member.
TokenizerFacts read_tokenizer_facts(const std::string& folder, const std::string& model_type = "");

// Returns "gpt2", "roberta", "blenderbot", "blenderbot-small", "qwen2" or "llama"; empty: another
// kind or none.
std::string kind_of(const TokenizerFacts& facts);

}  // namespace lockstep::data
