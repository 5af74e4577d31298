// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_training/new_tokenizer.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/text/unicode.hpp"
#include "data/tokenizer_training/bpe_training.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* end_of_text = "<|endoftext|>";
constexpr const char* unknown = "<unk>";

Json byte_level() {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", true}};
}

// Returns the tokens, whose ids are their places, as "added_tokens" has them.
Json added_tokens(const std::vector<std::string>& special_tokens) {
    Json added = Json::array();
    for (const std::string& token : special_tokens)
        added.push_back({{"id", added.size()},
                         {"content", token},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
    return added;
}

Json model_of(const std::vector<std::string>& pieces, const std::vector<MergePieces>& merges,
              const Json& unknown_token) {
    using Members = Json::object_t;
    Members vocabulary;
    // Members' own functions look for an equal name first, at each one.
    for (const std::string& piece : pieces)
        vocabulary.Members::Container::emplace_back(piece, vocabulary.size());
    Json pairs = Json::array();
    for (const auto& [left, right] : merges) pairs.push_back({left, right});
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", unknown_token},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", Json(std::move(vocabulary))},
            {"merges", std::move(pairs)}};
}

void write(const std::string& path, const Json& json) {
    std::ofstream file(path, std::ios::binary);
    file << dump_json(json, 2) << '\n';
    if (!file.flush()) throw_errno("cannot write", path);
}

void write_files(const std::string& folder, const std::vector<std::string>& special_tokens,
                 const Json& splitting, const Json& decoder, Json model) {
    write(folder + "/tokenizer.json", {{"version", "1.0"},
                                       {"truncation", nullptr},
                                       {"padding", nullptr},
                                       {"added_tokens", added_tokens(special_tokens)},
                                       {"normalizer", nullptr},
                                       {"pre_tokenizer", splitting},
                                       {"post_processor", nullptr},
                                       {"decoder", decoder},
                                       {"model", std::move(model)}});
    Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                   {"bos_token", end_of_text},
                   {"eos_token", end_of_text},
                   {"clean_up_tokenization_spaces", false}};
    if (special_tokens.back() == unknown) config["unk_token"] = unknown;
    write(folder + "/tokenizer_config.json", config);
}

}  // namespace

PreTokenizers byte_level_splitting() {
    const nlohmann::json json = byte_level();
    return make_pre_tokenizers(JsonPart(json, "a new tokenizer", "pre_tokenizer"));
}

void require_byte_level_size(std::int32_t vocab_size) {
    constexpr std::int32_t smallest = 257;
    if (vocab_size < smallest)
        throw Error(ErrorKind::config, "--vocab-size " + std::to_string(vocab_size) +
                                           ": the bytes and " + end_of_text + " alone are " +
                                           std::to_string(smallest) + " tokens; give more");
}

std::int32_t write_byte_level_bpe(const std::string& folder, const std::vector<TokenCount>& words,
                                  std::int32_t vocab_size, std::int64_t min_frequency) {
    const std::vector<std::string> special{end_of_text};
    const TrainedBpe trained = train_bpe(
        words,
        {.special_tokens = special, .vocab_size = vocab_size, .min_frequency = min_frequency});
    write_files(folder, special, byte_level(), byte_level(),
                model_of(trained.pieces, trained.merges, nullptr));
    return static_cast<std::int32_t>(trained.pieces.size());
}

std::int32_t write_character_tokenizer(const std::string& folder,
                                       const std::vector<TokenCount>& characters) {
    const std::vector<std::string> special{end_of_text, unknown};
    std::vector<std::string> pieces = special;
    // The order of UTF-8 is that of the code points.
    for (const auto& [character, count] : characters) pieces.push_back(character);
    const Json fuse = {{"type", "Fuse"}};
    write_files(folder, special, nullptr, fuse, model_of(pieces, {}, unknown));
    return static_cast<std::int32_t>(pieces.size());
}

}  // namespace lockstep::data
