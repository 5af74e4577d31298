// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/tokenizer_json/pretrained_tokenizer.hpp"
#include "tests/support/files.hpp"

namespace lockstep::tests {

// Reads what make_tokenizer_golden.py wrote.
inline nlohmann::json read_golden(const std::string& name) {
    return nlohmann::json::parse(read_text("tests/data/tokenizer_json/golden/" + name + ".json"));
}

// Makes a tokenizer of the contents of a tokenizer.json.
inline std::unique_ptr<data::PretrainedTokenizer> tokenizer_of(
    const nlohmann::json& json, const data::TokenizerFacts& facts = {}) {
    return std::make_unique<data::PretrainedTokenizer>(
        data::parse_tokenizer_file("tokenizer.json", json.dump()), facts);
}

inline std::unique_ptr<data::PretrainedTokenizer> golden_tokenizer(const std::string& name) {
    return tokenizer_of(read_golden(name)["tokenizer"]);
}

}  // namespace lockstep::tests
