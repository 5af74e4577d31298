// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "data/tokenizers/dictionary.hpp"
#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

// Works as ParlAI's `re` tokenizer: splits text into words, punctuation and line feeds, and looks
// them up in a dictionary.
class DictionaryTokenizer final : public Tokenizer {
public:
    explicit DictionaryTokenizer(Dictionary dictionary) : dictionary_(std::move(dictionary)) {}

    void encode(std::string_view text, std::vector<std::int32_t>& out) const override;
    // These two do what the functions of written_words.hpp say.
    void encode_delimiter(std::string_view text, std::vector<std::int32_t>& out) const;
    void find_specials(
        std::string_view text,
        const std::function<void(std::string_view name, std::size_t offset)>& found) const;
    // Returns the tokens joined by single spaces, as ParlAI shows them.
    std::string decode(std::span<const std::int32_t> ids) const override;
    std::int32_t size() const noexcept override { return dictionary_.size(); }
    std::uint64_t hash() const noexcept override { return dictionary_.hash(); }
    std::vector<std::string> save(const std::string& directory) const override;
    std::string_view name() const noexcept override { return tokenizer_name; }
    const SpecialTokens& special() const noexcept override { return special_; }

    const Dictionary& dictionary() const noexcept { return dictionary_; }

    static constexpr std::string_view tokenizer_name = "re";

private:
    enum class Names { words, specials };  // what the names of null, start and end are
    // `text` contains no special token except possibly these.
    void encode(std::string_view text, std::span<const std::int32_t> special_tokens, Names names,
                std::vector<std::int32_t>& out) const;
    void encode_words(std::string_view text, Names names, std::vector<std::int32_t>& out) const;

    Dictionary dictionary_;
    SpecialTokens special_;
};

}  // namespace lockstep::data
