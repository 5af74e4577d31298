// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/plain_files.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "data/text/git_lfs.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

constexpr const char* qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

void read_merges(RawTokenizerFile& file, const std::string& path) {
    const std::string text = read_file(path);
    refuse_lfs_pointer(path, text);
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = std::string_view(text).substr(begin, end - begin);
        if (line.ends_with('\r')) line.remove_suffix(1);
        begin = end + 1;
        ++number;
        if (line.empty() || line.starts_with("#version")) continue;
        file.merges.push_back(merge_of_line(line, path + ":" + std::to_string(number)));
    }
}

bool has_several_characters(std::string_view piece) {
    const auto begins = [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    };
    return std::ranges::count_if(piece, begins) > 1;
}

// Some words stand in vocabularies without a merge, as RoBERTa's madeupword0000. A file that makes
// less than half of the pieces was cut. BlenderbotSmall writes "th@@" inside a word and "th" at its
// end, which a merge writes as "th</w>".
void require_merges(const RawTokenizerFile& file, const std::string& path) {
    std::set<std::string> made;
    for (const auto& [left, right] : file.merges) made.insert(left + right);
    std::size_t pieces = 0, reached = 0;
    for (const auto& [piece, id] : file.vocabulary) {
        const std::string bare = piece.ends_with("@@") ? piece.substr(0, piece.size() - 2) : piece;
        if (!has_several_characters(bare)) continue;
        ++pieces;
        reached += made.contains(bare) || made.contains(bare + "</w>") ? 1U : 0U;
    }
    if (2 * reached >= pieces) return;
    throw Error(ErrorKind::data, path + ": makes only " + std::to_string(reached) + " of the " +
                                     std::to_string(pieces) +
                                     " pieces of several characters in vocab.json; it was cut, or "
                                     "belongs to another tokenizer: copy it again");
}

// Collects added tokens: those that the vocabulary does not have get the ids that follow.
class Additions {
public:
    explicit Additions(const RawTokenizerFile& file) : ids_(Json::array()) {
        for (const auto& [piece, id] : file.vocabulary) known_.try_emplace(piece, id);
        next_ = static_cast<std::int32_t>(known_.size());
    }

    // Does nothing for a token that was added before.
    void add(const std::string& content, Json flags) {
        if (!added_.try_emplace(content, true).second) return;
        const auto known = known_.find(content);
        flags["id"] = known != known_.end() ? known->second : next_++;
        flags["content"] = content;
        ids_.push_back(std::move(flags));
    }
    Json take() { return std::move(ids_); }

private:
    std::map<std::string, std::int32_t> known_;
    std::map<std::string, bool> added_;
    std::int32_t next_ = 0;
    Json ids_;
};

// Adds the tokens of added_tokens.json in the order of their ids.
void add_listed(const std::string& folder, const SpecialTokenNames& names, Additions& additions) {
    const std::string path = folder + "/added_tokens.json";
    if (!path_exists(path)) return;
    RawTokenizerFile listed = parse_vocabulary_file(path, read_file(path));
    std::sort(listed.vocabulary.begin(), listed.vocabulary.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [content, id] : listed.vocabulary) {
        const bool special = content == names.begin || content == names.end ||
                             content == names.pad || content == names.unknown;
        additions.add(content, {{"special", special}, {"normalized", !special}});
    }
}

SpecialTokenNames names_of(const TokenizerFacts& facts) {
    SpecialTokenNames names = facts.named;
    const auto complete = [](auto& name, const auto& other) {
        if (!name) name = other;
    };
    complete(names.begin, facts.by_class.begin);
    complete(names.end, facts.by_class.end);
    complete(names.pad, facts.by_class.pad);
    complete(names.unknown, facts.by_class.unknown);
    complete(names.separator, facts.by_class.separator);
    complete(names.classifier, facts.by_class.classifier);
    complete(names.mask, facts.by_class.mask);
    return names;
}

Json added_tokens(const RawTokenizerFile& file, const TokenizerFacts& facts,
                  const SpecialTokenNames& names) {
    Additions additions(file);
    add_listed(facts.folder, names, additions);
    for (const auto& name : {names.begin, names.end, names.unknown, names.separator, names.pad,
                             names.classifier, names.mask})
        if (name) additions.add(*name, {{"special", true}, {"normalized", false}});
    return additions.take();
}

Json id_of(const Json& added, const std::string& content) {
    for (const Json& token : added)
        if (token["content"] == content) return token["id"];
    return nullptr;
}

Json byte_level(const TokenizerFacts& facts, const std::string& kind) {
    const bool prefix = facts.add_prefix_space.value_or(kind == "blenderbot");
    return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"use_regex", kind != "qwen2"}};
}

Json pre_tokenizer(const TokenizerFacts& facts, const std::string& kind) {
    Json bytes = byte_level(facts, kind);
    if (kind != "qwen2") return bytes;
    const Json split = {{"type", "Split"},
                        {"pattern", {{"Regex", qwen2_pattern}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, bytes})}};
}

Json post_processor(const SpecialTokenNames& names, const std::string& kind, const Json& added) {
    const auto pair = [&](const std::optional<std::string>& name) {
        return Json::array({name.value_or(""), id_of(added, name.value_or(""))});
    };
    if (kind == "roberta")
        return {{"type", "RobertaProcessing"},
                {"cls", pair(names.classifier)},
                {"sep", pair(names.separator)}};
    if (kind != "blenderbot" || !names.end) return nullptr;
    const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const Json end = {{"SpecialToken", {{"id", *names.end}, {"type_id", 0}}}};
    const Json ids = {{"id", *names.end}, {"ids", Json::array({id_of(added, *names.end)})}};
    return {{"type", "TemplateProcessing"},
            {"single", Json::array({text, end})},
            {"special_tokens", {{*names.end, ids}}}};
}

void require_known(const TokenizerFacts& facts, const std::string& kind) {
    if (!kind.empty() && kind != "llama") return;
    const std::string named =
        facts.tokenizer_class.empty() ? facts.model_type : facts.tokenizer_class;
    throw Error(ErrorKind::data,
                facts.folder + ": has no tokenizer.json, and " +
                    (named.empty() ? "neither tokenizer_config.json nor config.json names its class"
                                   : "the rules of '" + shown(named) +
                                         "' for vocab.json and merges.txt are not known") +
                    "; let transformers load and save the tokenizer, which writes tokenizer.json");
}

}  // namespace

RawTokenizerFile read_plain_files(const TokenizerFacts& facts) {
    const std::string kind = kind_of(facts);
    require_known(facts, kind);
    const std::string path = facts.folder + "/vocab.json";
    RawTokenizerFile file = parse_vocabulary_file(path, read_file(path));
    read_merges(file, facts.folder + "/merges.txt");
    const SpecialTokenNames names = names_of(facts);
    const Json added = added_tokens(file, facts, names);
    file.rest = {{"model", {{"type", "BPE"}}}, {"added_tokens", added}};
    require_merges(file, facts.folder + "/merges.txt");
    if (kind == "blenderbot-small") return file;
    if (kind == "qwen2") file.rest["normalizer"] = {{"type", "NFC"}};
    file.rest["pre_tokenizer"] = pre_tokenizer(facts, kind);
    file.rest["decoder"] = {{"type", "ByteLevel"}};
    file.rest["post_processor"] = post_processor(names, kind, added);
    return file;
}

}  // namespace lockstep::data
