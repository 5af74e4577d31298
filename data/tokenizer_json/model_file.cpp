// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/model_file.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "data/text/unicode.hpp"
#include "data/tokenizer_json/described_tokens.hpp"
#include "data/tokenizer_json/sentencepiece_model.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;
using TokensById = std::map<std::int64_t, Json>;

constexpr const char* space_mark = "\u2581";

// Calls `parts` with the two sides of each place where a piece can be joined of two others.
template <class Parts>
void for_each_split(const std::string& piece, Parts&& parts) {
    const std::string_view text = piece;
    for (std::size_t at = unicode::decode(text).bytes; at < text.size();
         at += unicode::decode(text.substr(at)).bytes)
        parts(text.substr(0, at), text.substr(at));
}

// SentencePiece joins the neighbours whose joined piece has the highest score, wherever its two
// parts meet, and the leftmost of those with the same score.
void read_merges(const SentencePieceModelFile& model, RawTokenizerFile& file) {
    std::unordered_map<std::string_view, bool> known;
    std::vector<const ModelPiece*> by_score;
    for (const ModelPiece& piece : model.pieces) {
        if (!piece.joins()) continue;
        known.try_emplace(piece.text, true);
        by_score.push_back(&piece);
    }
    std::stable_sort(by_score.begin(), by_score.end(),
                     [](const auto* a, const auto* b) { return a->score > b->score; });
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < by_score.size(); ++i) {
        if (i > 0 && by_score[i]->score != by_score[i - 1]->score) ++rank;
        for_each_split(by_score[i]->text, [&](std::string_view left, std::string_view right) {
            if (!known.contains(left) || !known.contains(right)) return;
            file.merges.emplace_back(left, right);
            file.merge_ranks.push_back(rank);
        });
    }
}

TokensById described_by_id(const std::string& folder) {
    TokensById added;
    for (Json& token : described_tokens(folder)) {
        const auto id = token["id"].get<std::int64_t>();
        added[id] = std::move(token);
    }
    const std::string path = folder + "/added_tokens.json";
    if (!path_exists(path)) return added;
    for (const auto& [content, id] : parse_vocabulary_file(path, read_file(path)).vocabulary)
        added.try_emplace(id, Json{{"id", id}, {"content", content}, {"normalized", false}});
    return added;
}

Json added_tokens(const SentencePieceModelFile& model, TokensById added) {
    for (std::size_t i = 0; i < model.pieces.size(); ++i) {
        const ModelPiece& piece = model.pieces[i];
        if (!piece.is_special() && piece.type != ModelPiece::user_defined) continue;
        const auto id = static_cast<std::int64_t>(i);
        added.try_emplace(id, Json{{"id", id},
                                   {"content", piece.text},
                                   {"special", piece.is_special()},
                                   {"normalized", false}});
    }
    Json tokens = Json::array();
    for (auto& [id, token] : added) tokens.push_back(std::move(token));
    return tokens;
}

// SentencePiece takes the names of its control symbols in a text for text. Those that the files
// beside the model describe are found in texts, as all that these add.
std::vector<std::int32_t> not_in_texts(const SentencePieceModelFile& model,
                                       const TokensById& described) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < model.pieces.size(); ++i)
        if (model.pieces[i].is_special() && !described.contains(static_cast<std::int64_t>(i)))
            ids.push_back(static_cast<std::int32_t>(i));
    return ids;
}

// Where no file names a class, the model's own tokens begin and end a text.
void complete_names(const SentencePieceModelFile& model, TokenizerFacts& facts) {
    if (!facts.tokenizer_class.empty() || !kind_of(facts).empty()) return;
    const auto complete = [&](auto& name, const auto& named, std::int64_t id) {
        if (named || id < 0 || id >= static_cast<std::int64_t>(model.pieces.size())) return;
        const ModelPiece& piece = model.pieces[static_cast<std::size_t>(id)];
        if (piece.type == ModelPiece::control) name = piece.text;
    };
    complete(facts.by_class.begin, facts.named.begin, model.begin);
    complete(facts.by_class.end, facts.named.end, model.end);
}

Json read_config(const std::string& folder) {
    const std::string path = folder + "/tokenizer_config.json";
    return path_exists(path) ? try_parse_json(read_json_text(path)) : Json::object();
}

// The tokens around a text, as LLaMA's tokenizer has them without a word in its files: <s> before.
Json post_processor(const Json& config, const Json& added, const TokenizerFacts& facts) {
    Json single = Json::array(), tokens = Json::object();
    const auto add = [&](const char* member, bool otherwise,
                         const std::optional<std::string>& name) {
        const Json flag = config.value(member, Json(otherwise));
        if (!flag.is_boolean() || !flag.get<bool>() || !name) return;
        for (const Json& token : added) {
            if (token.value("content", Json()) != *name) continue;
            single.push_back({{"SpecialToken", {{"id", *name}, {"type_id", 0}}}});
            tokens[*name] = {{"id", *name}, {"ids", Json::array({token["id"]})}};
        }
    };
    const auto named = [](const auto& by_file, const auto& by_class) {
        return by_file ? by_file : by_class;
    };
    add("add_bos_token", true, named(facts.named.begin, facts.by_class.begin));
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    add("add_eos_token", false, named(facts.named.end, facts.by_class.end));
    return {{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", tokens}};
}

Json normalizer(const SentencePieceModelFile& model) {
    Json marks = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space_mark}};
    if (!model.dummy_prefix) return marks;
    const Json prefix = {{"type", "Prepend"}, {"prepend", space_mark}};
    return {{"type", "Sequence"}, {"normalizers", Json::array({prefix, marks})}};
}

Json decoder(const SentencePieceModelFile& model) {
    Json parts =
        Json::array({{{"type", "Replace"}, {"pattern", {{"String", space_mark}}}, {"content", " "}},
                     {{"type", "ByteFallback"}},
                     {{"type", "Fuse"}}});
    if (model.dummy_prefix)
        parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return {{"type", "Sequence"}, {"decoders", std::move(parts)}};
}

}  // namespace

RawTokenizerFile read_model_file(TokenizerFacts& facts) {
    const SentencePieceModelFile model =
        read_sentencepiece_model(facts.folder + "/tokenizer.model");
    complete_names(model, facts);
    RawTokenizerFile file{model.path, {}, {}, {}, {}, {}};
    Json unknown_token = nullptr;
    bool bytes = false;
    for (const ModelPiece& piece : model.pieces) {
        file.vocabulary.emplace_back(piece.text, static_cast<std::int32_t>(file.vocabulary.size()));
        if (piece.type == ModelPiece::unknown) unknown_token = piece.text;
        bytes = bytes || piece.type == ModelPiece::byte;
    }
    read_merges(model, file);
    const TokensById described = described_by_id(facts.folder);
    file.not_in_texts = not_in_texts(model, described);
    const Json added = added_tokens(model, described);
    file.rest = {{"added_tokens", added},
                 {"normalizer", normalizer(model)},
                 {"pre_tokenizer", nullptr},
                 {"post_processor", post_processor(read_config(facts.folder), added, facts)},
                 {"decoder", decoder(model)},
                 {"model",
                  {{"type", "BPE"},
                   {"unk_token", unknown_token},
                   {"fuse_unk", true},
                   {"byte_fallback", bytes}}}};
    return file;
}

}  // namespace lockstep::data
