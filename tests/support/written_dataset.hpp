// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/hdf5/hdf5_writer.hpp"
#include "data/storage/dataset_info.hpp"
#include "data/writing/split_writer.hpp"
#include "tests/support/memory_rows.hpp"

namespace lockstep::tests {

inline constexpr const char* dictionary_hash = "0123456789abcdef";

inline data::SplitInfo write_split(const std::string& directory, data::Hdf5Output& index,
                                   const data::SplitDescription& description,
                                   const MemoryRows::Shard& rows) {
    data::SplitWriter writer(directory, index, description);
    std::uint32_t row = 0;
    for (const auto& [source_size, label_size] : rows) {
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < source_size + label_size; ++i) tokens.push_back(token_of(row, i));
        const std::span<const std::int32_t> all(tokens);
        const std::string text = "row " + std::to_string(row);
        const std::vector<std::string_view> texts{text, "or else"};
        writer.add(
            all.first(static_cast<std::size_t>(source_size)),
            all.subspan(static_cast<std::size_t>(source_size)),
            description.split == "valid" ? std::span(texts) : std::span<const std::string_view>());
        ++row;
    }
    return writer.close();
}

// Writes a data set of dialogues whose row r has the tokens token_of(r, 0), token_of(r, 1), ...
// It has no splits 'valid' and 'test' if those are not given.
inline void write_dataset(const std::string& directory, const MemoryRows::Shard& train,
                          const std::optional<MemoryRows::Shard>& valid, int shards,
                          const std::optional<MemoryRows::Shard>& test = {}) {
    data::DatasetInfo info;
    info.tokenizer = "re";
    info.vocabulary = 1004;
    info.dictionary_hash = dictionary_hash;
    data::Hdf5Output index(directory + "/" + data::format::index_file);
    index.attribute(data::format::dictionary_hash, std::string(dictionary_hash));
    data::SplitDescription description;
    description.split = "train";
    description.shards = shards;
    description.tokenizer = info.tokenizer;
    description.dictionary_hash = dictionary_hash;
    info.splits.push_back(write_split(directory, index, description, train));
    if (valid) {
        description.split = "valid";
        description.shards = 1;
        description.references = data::References::kept;
        info.splits.push_back(write_split(directory, index, description, *valid));
    }
    if (test) {
        description.split = "test";
        description.shards = 1;
        description.references = data::References::none;
        info.splits.push_back(write_split(directory, index, description, *test));
    }
    index.close();
    data::write_dataset_info(directory, info);
}

}  // namespace lockstep::tests
