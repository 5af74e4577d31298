// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/bpe/vocabulary.hpp"
#include "data/tokenizer_steps/json_part.hpp"
#include "data/tokenizer_steps/normalizer.hpp"
#include "data/tokenizer_steps/pre_tokenizer.hpp"
#include "data/tokenizer_steps/token_trie.hpp"

namespace lockstep::data {

// A token that is found in texts before they are split.
struct AddedToken {
    std::int32_t id = 0;
    std::string content;
    bool single_word = false;  // only where no word character is beside it
    bool lstrip = false;       // takes white space before it
    bool rstrip = false;       // takes white space behind it
    bool normalized = false;   // is found in the normalized text
    bool special = false;      // is no text: decoding may leave it out
    bool in_texts = true;      // is found in texts at all
    std::string decoded;       // what it is in decoded texts: normalized if it is found so
};

// What the text of a special token is: the token, as `tokenizers` takes it, or only text.
enum class SpecialsInText { tokens, text };

// A part of a text, in bytes.
struct TextRange {
    std::size_t begin = 0, end = 0;
};

// Takes a text's added tokens and what is between them.
class SectionSink {
public:
    virtual ~SectionSink() = default;
    virtual void take_token(std::int32_t id) = 0;
    virtual void take_text(const Piece& section) = 0;
};

class AddedTokens {
public:
    AddedTokens() = default;
    // Reads "added_tokens" of a file. Throws a data error for tokens that are twice there, and for
    // ids that `tokenizers` would not give them: a token of the vocabulary has its id, and the
    // others have the ids that follow.
    AddedTokens(const JsonPart& file, const Vocabulary& vocabulary);

    // Takes the tokens with these ids for text wherever their contents stand.
    void leave_out_of_texts(const std::vector<std::int32_t>& ids);
    // Changes what is searched for in normalized texts as the normalizer changes texts.
    void read_normalized(const Normalizer* normalizer);

    enum class Stage { given, normalized };
    // Divides a text into the tokens that are found at this stage and what is between them.
    void split(const Piece& text, Stage stage, SpecialsInText specials, SectionSink& sink) const;

    // Divides a given text into the special tokens of both stages, and the other tokens that are
    // found in given texts, and what is between them. A special token that touches one of `words`,
    // which are in order, is text.
    void split(const Piece& text, std::span<const TextRange> words, SectionSink& sink) const;

    // Returns nullptr if no added token has the id.
    const AddedToken* find(std::int32_t id) const noexcept;
    const std::vector<AddedToken>& all() const noexcept { return tokens_; }

private:
    void check_ids(const JsonPart& file, const Vocabulary& vocabulary) const;
    // A match that is not `taken` is text.
    using Taken = std::function<bool(const AddedToken& token, const TokenTrie::Match& match)>;
    void split(const Piece& text, const TokenTrie& trie, const Taken& taken,
               SectionSink& sink) const;
    bool stands_alone(const AddedToken& token, std::string_view before,
                      std::string_view behind) const noexcept;

    std::vector<AddedToken> tokens_;
    std::unordered_map<std::int32_t, std::size_t> by_id_;
    TokenTrie given_, normalized_, marked_;  // marked_: of texts whose words are known
};

}  // namespace lockstep::data
