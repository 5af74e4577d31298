// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/bpe/bpe_model.hpp"
#include "data/decoders/decoder.hpp"
#include "data/tokenizer_json/raw_file.hpp"
#include "data/tokenizer_json/special_tokens.hpp"
#include "data/tokenizer_json/subword_nmt.hpp"
#include "data/tokenizer_json/workspace_pool.hpp"
#include "data/tokenizer_steps/added_tokens.hpp"
#include "data/tokenizer_steps/normalizer.hpp"
#include "data/tokenizer_steps/post_processor.hpp"
#include "data/tokenizer_steps/pre_tokenizer.hpp"

namespace lockstep::data {

// yes: what the file's post-processor adds around a text, such as <s>, is added.
enum class AddSpecial { yes, no };
enum class SkipSpecial { yes, no };

// by_file: words are split as the file says. subword_nmt: as SubwordNmt says.
enum class WordRules { by_file, subword_nmt };

struct EncodeOptions {
    AddSpecial add_special = AddSpecial::no;
    SpecialsInText specials_in_text = SpecialsInText::text;
};

// A tokenizer as Hugging Face's `tokenizers` reads it from tokenizer.json: the same text gives the
// same ids. Several threads may call the const members at once.
class PretrainedTokenizer {
public:
    // Throws a data error that names the file, and the part that is wrong or not supported.
    PretrainedTokenizer(const RawTokenizerFile& file, const TokenizerFacts& facts,
                        WordRules rules = WordRules::by_file);

    // Appends the ids of `text`. Throws a data error if it is not UTF-8.
    void encode(std::string_view text, const EncodeOptions& options,
                std::vector<std::int32_t>& out) const;
    std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options) const;
    // Appends the ids of `text`, in which special tokens are tokens but where they touch one of
    // `words`, which are in order.
    void encode(std::string_view text, std::span<const TextRange> words,
                std::vector<std::int32_t>& out) const;
    // Leaves out ids that no token has.
    std::string decode(std::span<const std::int32_t> ids, SkipSpecial skip) const;

    // Returns what decoding makes text of; nothing: no token has the id.
    std::optional<std::string_view> decoded_piece(std::int32_t id) const noexcept;
    // Returns the token of an id as the file has it; nothing: no token has the id.
    std::optional<std::string_view> piece(std::int32_t id) const noexcept;
    // Returns no_id if there is no such token.
    std::int32_t find(std::string_view piece) const noexcept;
    bool is_special(std::int32_t id) const noexcept;
    // Returns the number of ids: the largest one plus 1. A model's table has at least as many rows.
    std::int32_t size() const noexcept;
    const SpecialTokenIds& special_tokens() const noexcept { return special_; }
    Streaming streaming() const noexcept { return decoder_.streaming; }
    // Equal hashes mean that the files have the same pieces, merges and rules.
    std::uint64_t hash() const noexcept { return hash_; }
    // Equal numbers mean that the same text gives the same ids and the other way round, also by
    // files of other forms.
    std::uint64_t meaning() const noexcept { return meaning_; }
    // Says in one line each what of the file is not followed.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

private:
    class Encoding;
    void read_vocabulary(const RawTokenizerFile& file);
    void read_special_tokens(const RawTokenizerFile& file, const TokenizerFacts& facts);

    Vocabulary vocabulary_;
    AddedTokens added_;
    std::unique_ptr<Normalizer> normalizer_;
    PreTokenizers pre_tokenizers_;
    std::unique_ptr<BpeModel> model_;
    std::unique_ptr<SubwordNmt> subword_nmt_;
    PostProcessor post_processor_;
    DecoderPart decoder_;
    SpecialTokenIds special_;
    std::vector<std::string> notes_;
    std::uint64_t hash_ = 0, meaning_ = 0;
    mutable WorkspacePool workspaces_;
};

}  // namespace lockstep::data
