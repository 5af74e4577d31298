// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/bpe/bpe_model.hpp"
#include "data/decoders/decoder.hpp"

namespace lockstep::data {

// Works as transformers' BlenderbotSmallTokenizer, which has subword-nmt's rules: words in lower
// case, and "@@" behind each piece of a word but its last. Merges are made of pieces that may be no
// tokens. The vocabulary must outlive the object.
class SubwordNmt {
public:
    SubwordNmt(const Vocabulary& vocabulary, const std::vector<MergePieces>& merges,
               std::int32_t unknown);

    void encode(std::string_view text, BpeWorkspace& workspace,
                std::vector<std::int32_t>& out) const;

private:
    void encode_word(std::string_view word, BpeWorkspace& workspace,
                     std::vector<std::int32_t>& out) const;
    std::int32_t number_of(const std::string& symbol);
    std::int32_t token_of(const std::string& symbol) const noexcept;

    const Vocabulary& vocabulary_;
    std::int32_t unknown_;
    IdOfText symbols_;                  // the pieces of merges
    std::vector<std::int32_t> tokens_;  // of each symbol
    MergeTable merges_;
};

// Joins pieces by spaces, but those that end with "@@" directly.
class SubwordNmtDecoder final : public Decoder {
public:
    void decode(std::vector<std::string>& pieces) const override;
};

}  // namespace lockstep::data
