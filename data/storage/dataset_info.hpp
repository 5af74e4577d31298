// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/storage/shard_format.hpp"
#include "data/storage/special_tokens.hpp"
#include "data/text/text_tokens.hpp"

namespace lockstep::data {

struct ShardInfo {
    std::string file;  // relative to the directory
    std::uint64_t bytes = 0, rows = 0, tokens = 0;
    std::string
        xxh3;  // hash of the whole file, 16 hex digits; empty in data sets of older versions
};

struct SplitInfo {
    std::string name;
    std::uint64_t rows = 0, source_tokens = 0, target_tokens = 0;
    // Only if the rows have spans with labels; otherwise all target tokens have labels.
    std::optional<std::uint64_t> label_tokens = std::nullopt;
    std::int64_t longest_source = 0, longest_target = 0;
    TextTokens texts;  // 0 and 0 in data sets of older versions
    std::vector<ShardInfo> shards;

    int version() const noexcept { return label_tokens ? spans_version : format_version; }
    std::uint64_t labels() const noexcept { return label_tokens.value_or(target_tokens); }
};

// Holds the contents of dataset.json.
struct DatasetInfo {
    DatasetKind kind = DatasetKind::dialogue;
    std::string tokenizer;        // name of the tokenizer
    std::int32_t vocabulary = 0;  // number of tokens, including specials
    SpecialTokens special;
    std::string dictionary_hash;  // 16 hex digits
    // Hash of index.h5, 16 hex digits; empty in data sets of older versions.
    std::string index_xxh3;
    std::vector<SplitInfo> splits;
    std::string options;  // options of prepare, as a JSON object

    // Returns null if there is no such split.
    const SplitInfo* find(std::string_view split) const noexcept;
};

// Throws an error that names the missing or wrong member, and advises to prepare again. Shards lie
// in the directory itself, and every number is one that a data set can have.
DatasetInfo read_dataset_info(const std::string& directory);
void write_dataset_info(const std::string& directory, const DatasetInfo& info);

}  // namespace lockstep::data
