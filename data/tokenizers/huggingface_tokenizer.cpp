// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/huggingface_tokenizer.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/storage/foreign_tokenizer.hpp"
#include "data/storage/shard_format.hpp"
#include "data/storage/special_tokens_json.hpp"
#include "data/tokenizer_json/open_pretrained.hpp"
#include "data/tokenizer_json/special_tokens.hpp"
#include "data/tokenizers/reply_tokens.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

SpecialTokens special_tokens_in(const std::string& folder, const PretrainedTokenizer& engine,
                                const ReplyTokens& of_replies) {
    const SpecialTokenIds& ids = engine.special_tokens();
    SpecialTokens special{.null = ids.pad,
                          .start = of_replies.start,
                          .begin = ids.begin,
                          .ends = {},
                          .unk = ids.unknown};
    if (ids.end) special.ends.push_back(*ids.end);
    for (const std::int32_t end : of_replies.ends)
        if (std::ranges::find(special.ends, end) == special.ends.end()) special.ends.push_back(end);
    if (special.ends.empty())
        throw Error(ErrorKind::data,
                    folder +
                        ": no token of the tokenizer ends a text; name it as \"eos_token\" in "
                        "tokenizer_config.json");
    return special;
}

std::optional<std::int32_t> added_begin(const PretrainedTokenizer& engine,
                                        const SpecialTokens& special) {
    const auto added = engine.encode("", {.add_special = AddSpecial::yes});
    const bool begins = !added.empty() && added.front() == special.begin;
    return begins ? special.begin : std::nullopt;
}

// Returns the token that is added behind what an encoder reads. A decoder goes on from a context.
std::optional<std::int32_t> added_end(const PretrainedTokenizer& engine,
                                      const SpecialTokens& special) {
    const auto added = engine.encode("", {.add_special = AddSpecial::yes});
    const bool ends = special.start && !added.empty() &&
                      std::ranges::find(special.ends, added.back()) != special.ends.end();
    return ends ? std::optional(added.back()) : std::nullopt;
}

// No row of prepared data has the token that fills up.
SpecialTokens without_pad(SpecialTokens special) {
    special.null.reset();
    return special;
}

// Refuses a description that names ids which the files do not have.
void require_known(const std::string& folder, const TokenizerFile& description,
                   std::int32_t tokens) {
    const SpecialTokens& special = description.special;
    std::vector<std::int32_t> ids = special.ends;
    for (const auto& id :
         {special.null, special.start, special.begin, special.unk, description.reply_begin})
        if (id) ids.push_back(*id);
    if (std::ranges::all_of(ids, [&](std::int32_t id) { return id < tokens; })) return;
    throw Error(ErrorKind::data, folder + "/" + format::foreign_tokenizer_file + ": \"" +
                                     special_tokens_member + "\" has an id beyond the " +
                                     std::to_string(tokens) +
                                     " tokens; restore the file, or prepare again");
}

}  // namespace

HuggingfaceTokenizer::HuggingfaceTokenizer(std::unique_ptr<PretrainedTokenizer> engine, Facts facts,
                                           const std::string& folder)
    : engine_(std::move(engine)),
      special_(std::move(facts.special)),
      text_begin_(added_begin(*engine_, special_)),
      text_end_(added_end(*engine_, special_)),
      reply_begin_(facts.reply_begin),
      model_type_(std::move(facts.model_type)),
      files_(files_in(folder)),
      folder_(folder),
      hash_(hash64(hex(engine_->hash()) + dump_json(to_json(special_)))),
      meaning_(hash64(hex(engine_->meaning()) + dump_json(to_json(without_pad(special_))))) {}

HuggingfaceTokenizer::~HuggingfaceTokenizer() = default;

auto HuggingfaceTokenizer::files_in(const std::string& folder) -> std::vector<KeptFile> {
    std::vector<KeptFile> files;
    for (const char* name : format::foreign_tokenizer_files) {
        const std::string path = folder + "/" + name;
        if (path_exists(path)) files.push_back({name, read_file(path, "cannot be read")});
    }
    return files;
}

const std::string* HuggingfaceTokenizer::kept_file(std::string_view name) const noexcept {
    for (const KeptFile& kept : files_)
        if (kept.name == name) return &kept.content;
    return nullptr;
}

std::string HuggingfaceTokenizer::origin_of(std::string_view name) const {
    return folder_ + "/" + std::string(name);
}

std::unique_ptr<HuggingfaceTokenizer> HuggingfaceTokenizer::load(const std::string& folder) {
    refuse_broken_links(folder);
    auto engine = open_pretrained_tokenizer(folder);
    const ReplyTokens of_replies = read_reply_tokens(folder, engine->size());
    Facts facts{.special = special_tokens_in(folder, *engine, of_replies),
                .reply_begin = of_replies.first,
                .model_type = read_tokenizer_facts(folder).model_type};
    return std::unique_ptr<HuggingfaceTokenizer>(
        new HuggingfaceTokenizer(std::move(engine), std::move(facts), folder));
}

std::unique_ptr<HuggingfaceTokenizer> HuggingfaceTokenizer::open(const std::string& folder,
                                                                 const TokenizerFile& description) {
    refuse_broken_links(folder);
    // The config.json of the model that the files are from is not kept.
    auto engine = open_pretrained_tokenizer(folder, description.model_type);
    require_known(folder, description, engine->size());
    Facts facts{.special = description.special,
                .reply_begin = description.reply_begin,
                .model_type = description.model_type};
    return std::unique_ptr<HuggingfaceTokenizer>(
        new HuggingfaceTokenizer(std::move(engine), std::move(facts), folder));
}

// The default keeps words that are spelled like control tokens as text.
void HuggingfaceTokenizer::encode(std::string_view text, std::vector<std::int32_t>& out) const {
    engine_->encode(text, EncodeOptions{}, out);
}

std::string HuggingfaceTokenizer::decode(std::span<const std::int32_t> ids) const {
    return engine_->decode(ids, SkipSpecial::yes);
}

std::int32_t HuggingfaceTokenizer::size() const noexcept { return engine_->size(); }

std::vector<std::string> HuggingfaceTokenizer::save(const std::string& directory) const {
    std::vector<std::string> names;
    for (const KeptFile& kept : files_) {
        const std::string path = directory + "/" + kept.name;
        std::ofstream file(followed_path(path), std::ios::binary);
        file << kept.content;
        if (!file.flush()) throw_errno("cannot write", path);
        names.push_back(kept.name);
    }
    write_tokenizer_file(directory, {.name = huggingface_name,
                                     .file = files_.front().name,
                                     .hash = hash(),
                                     .letter_case = "keep",
                                     .special = special_,
                                     .model_type = model_type_,
                                     .reply_begin = reply_begin_});
    names.emplace_back(format::foreign_tokenizer_file);
    return names;
}

}  // namespace lockstep::data
