// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>

#include "data/tokenizers/tokenizer.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace lockstep::data {

// Tokenizes with a SentencePiece model, unigram or BPE. The specials have the ids 0 to 3, and byte
// fallback makes decoding reproduce every text, unless the model normalizes. Lines are encoded one
// by one, with the byte token of a line feed between them. U+2581, which stands for a space in
// pieces, is its three byte tokens, and what is between is encoded as lines are.
class SentencePieceTokenizer final : public Tokenizer {
public:
    // `model` is the serialised model. `origin` names it in errors.
    SentencePieceTokenizer(std::string model, const std::string& origin);
    ~SentencePieceTokenizer() override;
    SentencePieceTokenizer(SentencePieceTokenizer&&) noexcept;

    static SentencePieceTokenizer load(const std::string& path);

    void encode(std::string_view text, std::vector<std::int32_t>& out) const override;
    std::string decode(std::span<const std::int32_t> ids) const override;
    std::int32_t size() const noexcept override;
    std::uint64_t hash() const noexcept override { return hash_; }
    std::vector<std::string> save(const std::string& directory) const override;
    // Returns true if the model changes texts on purpose, so that decoding gives others.
    bool normalizes() const noexcept { return normalizes_; }
    std::string_view name() const noexcept override { return tokenizer_name; }
    const SpecialTokens& special() const noexcept override { return special_; }

    static constexpr std::string_view tokenizer_name = "sentencepiece";

private:
    void encode_line(std::string_view line, std::vector<std::int32_t>& out) const;
    std::string decode_line(std::span<const std::int32_t> ids) const;
    std::string decode_part(std::span<const std::int32_t> ids) const;

    std::string model_;
    std::uint64_t hash_;
    std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
    bool normalizes_ = false;
    SpecialTokens special_;
    std::int32_t line_feed_ = 0;
    std::array<std::int32_t, 3> space_mark_{};  // the bytes of U+2581
};

}  // namespace lockstep::data
