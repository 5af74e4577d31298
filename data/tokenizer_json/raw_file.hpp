// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/bpe/bpe_model.hpp"

namespace lockstep::data {

// The contents of a tokenizer.json. Its two long lists, the members "vocab" and "merges" of
// "model", stand apart from the rest, where they are null.
struct RawTokenizerFile {
    std::string path;
    nlohmann::json rest;
    std::vector<std::pair<std::string, std::int32_t>> vocabulary;  // as they stand in the file
    std::vector<MergePieces> merges;
    std::vector<std::uint32_t> merge_ranks;  // of the merges; empty: they are in their order
    std::vector<std::int32_t> not_in_texts;  // ids of added tokens that no text has
};

// Parses the text of a file. Throws a data error that begins with the path if it is not JSON, if
// its values are nested too deep, if a name is twice in an object, if an id is not a whole number
// from 0 to id_limit - 1, or if a merge is not two pieces.
RawTokenizerFile parse_tokenizer_file(const std::string& path, std::string_view text);

// Parses an object of pieces and ids, which vocab.json is, in the same way.
RawTokenizerFile parse_vocabulary_file(const std::string& path, std::string_view text);

// Returns the two pieces of "left right". Throws a data error that begins with `origin` for any
// other text.
MergePieces merge_of_line(std::string_view line, const std::string& origin);

}  // namespace lockstep::data
