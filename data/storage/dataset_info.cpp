// SPDX-License-Identifier: Apache-2.0
#include "data/storage/dataset_info.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const SplitInfo& split) {
    Json shards = Json::array();
    for (const ShardInfo& s : split.shards)
        shards.push_back(
            {{"file", s.file}, {"bytes", s.bytes}, {"rows", s.rows}, {"tokens", s.tokens}});
    return {{"name", split.name},
            {"rows", split.rows},
            {"source_tokens", split.source_tokens},
            {"target_tokens", split.target_tokens},
            {"longest_source", split.longest_source},
            {"longest_target", split.longest_target},
            {"text_tokens", split.texts.all},
            {"unknown_tokens", split.texts.unknown},
            {"shards", std::move(shards)}};
}

SplitInfo split_of(const Json& json) {
    SplitInfo split{.name = json.at("name"),
                    .rows = json.at("rows"),
                    .source_tokens = json.at("source_tokens"),
                    .target_tokens = json.at("target_tokens"),
                    .longest_source = json.at("longest_source"),
                    .longest_target = json.at("longest_target"),
                    .texts = {.all = json.value("text_tokens", std::uint64_t{0}),
                              .unknown = json.value("unknown_tokens", std::uint64_t{0})},
                    .shards = {}};
    std::uint64_t rows = 0;
    for (const Json& s : json.at("shards")) {
        split.shards.push_back({s.at("file"), s.at("bytes"), s.at("rows"), s.at("tokens")});
        rows += split.shards.back().rows;
    }
    if (split.shards.empty() || rows != split.rows) throw std::runtime_error("rows without shards");
    return split;
}

DatasetInfo info_of(const Json& json) {
    DatasetInfo info{.kind = dataset_kind(json.at("kind").get<std::string>()),
                     .tokenizer = json.at("tokenizer"),
                     .vocabulary = json.at("vocabulary"),
                     .dictionary_hash = json.at("dictionary_hash"),
                     .splits = {},
                     .options = json.at("options").dump()};
    for (const Json& split : json.at("splits")) info.splits.push_back(split_of(split));
    if (info.splits.empty()) throw std::runtime_error("no splits");
    return info;
}

}  // namespace

const SplitInfo* DatasetInfo::find(std::string_view split) const noexcept {
    const auto found = std::find_if(splits.begin(), splits.end(),
                                    [&](const SplitInfo& s) { return s.name == split; });
    return found == splits.end() ? nullptr : &*found;
}

DatasetInfo read_dataset_info(const std::string& directory) {
    const std::string path = directory + "/" + format::dataset_file;
    const std::string text =
        read_file(path, "not a prepared data directory (make one with lockstep prepare)");
    std::int64_t version = 0;
    try {
        const Json json = Json::parse(text);
        version = json.at(format::version);
        if (version == format_version) return info_of(json);
    } catch (const std::exception&) {
        throw Error(ErrorKind::data, path + ": damaged; prepare the data again");
    }
    throw Error(ErrorKind::data, path + ": format version " + std::to_string(version) +
                                     ", but this program reads version " +
                                     std::to_string(format_version) + "; prepare the data again");
}

void write_dataset_info(const std::string& directory, const DatasetInfo& info) {
    Json splits = Json::array();
    for (const SplitInfo& split : info.splits) splits.push_back(to_json(split));
    const Json json = {{format::version, format_version},
                       {"kind", name(info.kind)},
                       {"tokenizer", info.tokenizer},
                       {"vocabulary", info.vocabulary},
                       {"dictionary_hash", info.dictionary_hash},
                       {"rows_per_block", rows_per_block},
                       {"splits", std::move(splits)},
                       {"options", Json::parse(info.options.empty() ? "{}" : info.options)}};
    const std::string path = directory + "/" + format::dataset_file;
    std::ofstream file(path);
    file << json.dump(2) << '\n';
    if (!file.flush()) throw_errno("cannot write", path);
}

}  // namespace lockstep::data
