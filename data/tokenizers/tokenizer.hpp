// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/storage/special_tokens.hpp"

namespace lockstep::data {

// Converts text to token ids and back. Several threads may call the const members at once.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    // Appends the ids of `text` (UTF-8), without start or end. They are never null, start, begin or
    // an end, even if the text has words with these names.
    virtual void encode(std::string_view text, std::vector<std::int32_t>& out) const = 0;
    // Returns the token that stands before every text that a model reads, in front of a context;
    // none: a text stands by itself.
    virtual std::optional<std::int32_t> text_begin() const { return std::nullopt; }
    // Returns text for people to read, without null, start, begin and ends.
    virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
    virtual std::int32_t size() const noexcept = 0;
    virtual const SpecialTokens& special() const noexcept = 0;
    // Tells whether a model whose table of embeddings has so many rows can use the tokenizer. Only
    // models that come from elsewhere have rows that no token uses.
    virtual bool fits_table(std::int64_t rows) const noexcept { return rows == size(); }
    // Equal hashes mean that the same text gives the same ids.
    virtual std::uint64_t hash() const noexcept = 0;
    // Is equal for tokenizers that give the same text the same ids although their files, and so
    // their hashes, differ: a model of one learns from data of the other.
    virtual std::uint64_t meaning() const noexcept { return hash(); }
    // Writes tokenizer.json and the files that it names, and returns their names in the directory.
    // They need not be on disk yet. open_tokenizer(directory) reads them.
    virtual std::vector<std::string> save(const std::string& directory) const = 0;
    virtual std::string_view name() const noexcept = 0;
    // Return the tokens that stand behind every context and before every label. Only tokenizers of
    // models with an encoder have them.
    virtual std::optional<std::int32_t> text_end() const { return std::nullopt; }
    virtual std::optional<std::int32_t> label_begin() const { return std::nullopt; }
    // Returns the token that the model's replies must begin with; none: the model chooses.
    virtual std::optional<std::int32_t> reply_begin() const { return std::nullopt; }
};

// Opens the tokenizer saved in `directory`, which is a prepared data directory or a model's. Throws
// a data error if it is missing or does not have the hash that was written.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& directory);

}  // namespace lockstep::data
