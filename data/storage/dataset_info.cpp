// SPDX-License-Identifier: Apache-2.0
#include "data/storage/dataset_info.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/storage/special_tokens_json.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_object.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::ordered_json;

using Object = JsonObject<Json>;

constexpr auto max_rows = std::uint64_t{1} << 32;  // a row's id has 32 bits
constexpr auto max_tokens = std::uint64_t{1} << 48;
constexpr std::int32_t max_vocabulary = 1 << 28;

Json to_json(const ShardInfo& shard) {
    Json json{{"file", shard.file},
              {"bytes", shard.bytes},
              {"rows", shard.rows},
              {"tokens", shard.tokens}};
    if (!shard.xxh3.empty()) json["xxh3"] = shard.xxh3;
    return json;
}

Json to_json(const SplitInfo& split) {
    Json shards = Json::array();
    for (const ShardInfo& shard : split.shards) shards.push_back(to_json(shard));
    Json json{{"name", split.name},
              {"rows", split.rows},
              {"source_tokens", split.source_tokens},
              {"target_tokens", split.target_tokens}};
    if (split.label_tokens) json["label_tokens"] = *split.label_tokens;
    json["longest_source"] = split.longest_source;
    json["longest_target"] = split.longest_target;
    json["text_tokens"] = split.texts.all;
    json["unknown_tokens"] = split.texts.unknown;
    json["shards"] = std::move(shards);
    return json;
}

// A name from elsewhere must not lead out of the folder.
std::string file_of(const Object& shard) {
    std::string file = shard.text("file");
    const bool plain = !file.empty() && file != "." && file != ".." &&
                       file.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
    if (!plain) shard.refuse("file", "the name of a file in this folder");
    return file;
}

std::string hash_in(const Object& json, const char* name) {
    if (!json.has(name)) return "";
    std::string hash = json.text(name);
    if (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
        json.refuse(name, "16 hexadecimal digits");
    return hash;
}

ShardInfo shard_of(const Object& json) {
    return {.file = file_of(json),
            .bytes = json.count("bytes"),
            .rows = json.count("rows", max_rows),
            .tokens = json.count("tokens", max_tokens),
            .xxh3 = hash_in(json, "xxh3")};
}

SplitInfo split_of(const Object& json) {
    const auto count_if_any = [&](const char* name) {
        return json.has(name) ? json.count(name, max_tokens) : 0;
    };
    constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
    SplitInfo split{
        .name = json.text("name"),
        .rows = json.count("rows", max_rows),
        .source_tokens = json.count("source_tokens", max_tokens),
        .target_tokens = json.count("target_tokens", max_tokens),
        .label_tokens = std::nullopt,
        .longest_source = json.whole<std::int64_t>("longest_source", {0, longest}),
        .longest_target = json.whole<std::int64_t>("longest_target", {0, longest}),
        .texts = {.all = count_if_any("text_tokens"), .unknown = count_if_any("unknown_tokens")},
        .shards = {}};
    if (json.has("label_tokens"))
        split.label_tokens = json.count("label_tokens", split.target_tokens);
    std::uint64_t rows = 0;
    for (const Object& shard : json.objects("shards")) {
        split.shards.push_back(shard_of(shard));
        rows += split.shards.back().rows;
    }
    if (split.shards.empty()) json.refuse("shards", "a list of at least one shard");
    if (rows != split.rows)
        json.refuse("rows", "the sum of the rows of its shards, which is " + std::to_string(rows));
    return split;
}

DatasetInfo info_of(const Object& json) {
    const auto kind = dataset_kind(json.text("kind"));
    if (!kind) json.refuse("kind", "dialogue or language_model");
    DatasetInfo info{.kind = *kind,
                     .tokenizer = json.text("tokenizer"),
                     .vocabulary = json.whole<std::int32_t>("vocabulary", {1, max_vocabulary}),
                     .special = {},
                     .dictionary_hash = json.text("dictionary_hash"),
                     .index_xxh3 = hash_in(json, "index_xxh3"),
                     .splits = {},
                     .options = dump_json(json.at("options"))};
    info.special = special_tokens_of(json, info.vocabulary);
    for (const Object& object : json.objects("splits")) {
        SplitInfo split = split_of(object);
        if (info.find(split.name) != nullptr) object.refuse("name", "the name of one split alone");
        info.splits.push_back(std::move(split));
    }
    if (info.splits.empty()) json.refuse("splits", "a list of at least one split");
    return info;
}

int version_of(const DatasetInfo& info) {
    int version = format_version;
    for (const SplitInfo& split : info.splits) version = std::max(version, split.version());
    return version;
}

}  // namespace

const SplitInfo* DatasetInfo::find(std::string_view split) const noexcept {
    const auto found = std::find_if(splits.begin(), splits.end(),
                                    [&](const SplitInfo& s) { return s.name == split; });
    return found == splits.end() ? nullptr : &*found;
}

DatasetInfo read_dataset_info(const std::string& directory) {
    const std::string path = directory + "/" + format::dataset_file;
    const std::string text = read_json_text(path, "cannot be read");
    const Json json = try_parse_ordered_json(text);
    const JsonOrigin origin{path, restore_remedy};
    const Object object(json, origin);
    const auto version = object.count(format::version);
    if (version != format_version && version != spans_version)
        throw Error(ErrorKind::data, path + ": format version " + std::to_string(version) +
                                         ", but this program reads versions 1 and 2; prepare the "
                                         "data again");
    DatasetInfo info = info_of(object);
    if (version_of(info) != static_cast<int>(version))
        object.refuse(format::version, "2 if a split has \"label_tokens\", otherwise 1");
    return info;
}

void write_dataset_info(const std::string& directory, const DatasetInfo& info) {
    Json splits = Json::array();
    for (const SplitInfo& split : info.splits) splits.push_back(to_json(split));
    Json json = {{format::version, version_of(info)},
                 {"kind", name(info.kind)},
                 {"tokenizer", info.tokenizer},
                 {"vocabulary", info.vocabulary},
                 {special_tokens_member, to_json(info.special)},
                 {"dictionary_hash", info.dictionary_hash},
                 {"rows_per_block", rows_per_block},
                 {"splits", std::move(splits)},
                 {"options", Json::parse(info.options.empty() ? "{}" : info.options)}};
    if (!info.index_xxh3.empty()) json["index_xxh3"] = info.index_xxh3;
    const std::string path = directory + "/" + format::dataset_file;
    std::ofstream file(path);
    file << dump_json(json, 2) << '\n';
    if (!file.flush()) throw_errno("cannot write", path);
}

}  // namespace lockstep::data
