// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizers/tokenizer.hpp"
#include "data/tokenizers/tokenizer_file.hpp"

namespace lockstep::data {

class PretrainedTokenizer;

// Works as the tokenizer of a model in Hugging Face's form. Its files are kept byte for byte. Words
// of a text never become control tokens, even if they have the name of one.
class HuggingfaceTokenizer final : public Tokenizer {
public:
    // Opens the folder of a model. Its files tell the special tokens. Throws a data error if none
    // ends a text.
    static std::unique_ptr<HuggingfaceTokenizer> load(const std::string& folder);
    // Opens a folder in which save() wrote the description.
    static std::unique_ptr<HuggingfaceTokenizer> open(const std::string& folder,
                                                      const TokenizerFile& description);
    ~HuggingfaceTokenizer() override;

    void encode(std::string_view text, std::vector<std::int32_t>& out) const override;
    // The post-processor says whether it adds one.
    std::optional<std::int32_t> text_begin() const override { return text_begin_; }
    std::optional<std::int32_t> text_end() const override { return text_end_; }
    std::optional<std::int32_t> label_begin() const override {
        return special_.start ? text_begin_ : std::nullopt;
    }
    std::optional<std::int32_t> reply_begin() const override { return reply_begin_; }
    std::string decode(std::span<const std::int32_t> ids) const override;
    std::int32_t size() const noexcept override;
    const SpecialTokens& special() const noexcept override { return special_; }
    // A model's table may be larger.
    bool fits_table(std::int64_t rows) const noexcept override { return rows >= size(); }
    // Is of what the engine does and of the special tokens.
    std::uint64_t hash() const noexcept override { return hash_; }
    // Is of what the engine does and of the tokens that begin and end a text.
    std::uint64_t meaning() const noexcept override { return meaning_; }
    std::vector<std::string> save(const std::string& directory) const override;
    std::string_view name() const noexcept override { return huggingface_name; }

    // The tokenizer itself, for texts in which some special tokens are tokens.
    const PretrainedTokenizer& engine() const noexcept { return *engine_; }
    // Returns the content of one of the kept files; nullptr: there is no such file.
    const std::string* kept_file(std::string_view name) const noexcept;
    // Returns where a kept file was read, for messages.
    std::string origin_of(std::string_view name) const;

private:
    struct KeptFile {
        std::string name, content;
    };

    // What the files of a model tell beside its tokenizer.
    struct Facts {
        SpecialTokens special;
        std::optional<std::int32_t> reply_begin;
        std::string model_type;
    };
    HuggingfaceTokenizer(std::unique_ptr<PretrainedTokenizer> engine, Facts facts,
                         const std::string& folder);
    static std::vector<KeptFile> files_in(const std::string& folder);

    std::unique_ptr<PretrainedTokenizer> engine_;
    SpecialTokens special_;
    std::optional<std::int32_t> text_begin_, text_end_, reply_begin_;
    std::string model_type_;
    std::vector<KeptFile> files_;
    std::string folder_;  // of the files
    std::uint64_t hash_, meaning_;
};

}  // namespace lockstep::data
