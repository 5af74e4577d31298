// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/data_sets.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>

#include "data/tokenizers/dataset_tokenizer.hpp"
#include "launcher/command_line/option_table.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

fs::path real_path(const std::string& folder) {
    std::error_code unknown;
    const fs::path path = fs::canonical(folder, unknown);
    return unknown ? fs::absolute(folder).lexically_normal() : path;
}

// Sets that were prepared by files of other forms, or with another token that fills up, learn
// together.
bool mean_the_same(const data::Dataset& a, const data::Dataset& b) {
    return a.dictionary_hash() == b.dictionary_hash() ||
           data::tokenizer_of(a)->meaning() == data::tokenizer_of(b)->meaning();
}

data::SpecialTokens without_pad(data::SpecialTokens special) {
    special.null.reset();
    return special;
}

const char* word_of(data::DatasetKind kind) {
    return kind == data::DatasetKind::dialogue ? "dialogues" : "plain text";
}

void require_alike(const data::Dataset& first, const data::Dataset& other) {
    const std::string both = other.directory() + " and " + first.directory();
    if (first.kind() != other.kind())
        throw Error(ErrorKind::config, both + " hold " + word_of(other.kind()) + " and " +
                                           word_of(first.kind()) +
                                           "; data sets that are used together are of one kind");
    if (!mean_the_same(first, other))
        throw Error(ErrorKind::config,
                    both +
                        " have different dictionaries; prepare one with --like and the other's "
                        "folder");
    if (first.vocabulary() != other.vocabulary())
        throw Error(ErrorKind::data, both + ": \"vocabulary\" in their dataset.json is " +
                                         std::to_string(other.vocabulary()) + " and " +
                                         std::to_string(first.vocabulary()) +
                                         ", but their dictionary is one; prepare again what "
                                         "`lockstep inspect --verify` calls damaged");
    if (without_pad(first.special()) != without_pad(other.special()))
        throw Error(ErrorKind::data,
                    both +
                        ": \"special_tokens\" in their dataset.json differ, but their dictionary "
                        "is one; prepare again the one that is damaged");
}

std::int64_t rows_of(const data::Dataset& dataset) {
    return static_cast<std::int64_t>(dataset.split(data::format::train_split).rows);
}

}  // namespace

std::vector<std::string> names_of_sets(const std::vector<std::string>& folders) {
    std::vector<std::string> names;
    for (const std::string& folder : folders) {
        const std::string name = (real_path(folder) / "").parent_path().filename().string();
        std::string unique = name;
        for (int n = 2; std::find(names.begin(), names.end(), unique) != names.end(); ++n)
            unique = name + "_" + std::to_string(n);
        names.push_back(unique);
    }
    return names;
}

DataSets open_data_sets(const std::string& option, const std::vector<std::string>& folders) {
    DataSets opened;
    std::map<fs::path, std::string> known;
    for (const std::string& folder : folders) {
        if (folder.find(',') != std::string::npos && !path_exists(folder))
            throw Error(ErrorKind::config, "--" + option + " " + folder +
                                               ": no such folder; between several folders there "
                                               "are blanks, not commas");
        opened.sets.push_back(data::Dataset::open(folder, option));
        const auto [first, fresh] = known.emplace(real_path(folder), folder);
        if (!fresh)
            throw Error(ErrorKind::config, "--" + option + ": " + folder + " and " + first->second +
                                               " are the same data set; give it once, with a "
                                               "larger weight if it shall count more");
        require_alike(opened.first(), opened.sets.back());
    }
    opened.names = names_of_sets(folders);
    return opened;
}

std::vector<double> weights_of(const RunConfig& config, const DataSets& sets) {
    if (!config.stochastic_weights && !config.multitask_weights.empty())
        return config.multitask_weights;
    std::vector<double> weights;
    for (const data::Dataset& set : sets.sets)
        weights.push_back(config.stochastic_weights ? static_cast<double>(rows_of(set)) : 1.0);
    return weights;
}

DataSets validation_sets(const RunConfig& config, const DataSets& training) {
    const train::ValidationOptions& v = config.train.validation;
    const bool asked = v.every_n_epochs > 0 || v.every_n_steps > 0 || v.every_n_secs > 0;
    DataSets sets = training;
    if (!config.eval_data.empty()) {
        sets = open_data_sets("eval-data", config.eval_data);
        require_alike(training.first(), sets.first());
    } else if (!asked && std::none_of(sets.sets.begin(), sets.sets.end(), [](const auto& set) {
                   return set.has_split(data::format::valid_split);
               })) {
        return {};
    }
    for (const data::Dataset& set : sets.sets) {
        if (set.has_split(data::format::valid_split)) continue;
        throw Error(ErrorKind::config,
                    set.directory() +
                        ": no split 'valid' in this data set; name one that has it with "
                        "--eval-data, or prepare it with --valid");
    }
    return sets;
}

const DataSets& final_sets(const DataSets& training, const DataSets& validation) noexcept {
    return validation.sets.empty() ? training : validation;
}

DataSets sets_with(const DataSets& sets, const std::string& split) {
    DataSets having;
    for (std::size_t i = 0; i < sets.sets.size(); ++i) {
        if (!sets.sets[i].has_split(split)) continue;
        having.sets.push_back(sets.sets[i]);
        having.names.push_back(sets.names[i]);
    }
    return having;
}

data::MissingShards missing_shards(const comm::RankInfo& rank_info) noexcept {
    return rank_info.one_host() ? data::MissingShards::refuse : data::MissingShards::allow;
}

void check_shards(const DataSets& sets, const std::string& split, data::MissingShards missing) {
    for (const data::Dataset& set : sets.sets) data::check_shards(set, set.split(split), missing);
}

std::string shares_text(const DataSets& sets, const std::vector<double>& weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::ostringstream text;
    text.precision(3);
    for (std::size_t i = 0; i < sets.sets.size(); ++i)
        text << (i > 0 ? ", " : "") << sets.names[i] << ' ' << 100 * weights[i] / sum << " %";
    return text.str();
}

std::string mixture_text(const DataSets& sets, const std::vector<double>& weights) {
    if (!sets.several()) return "";
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::string text;
    for (std::size_t i = 0; i < sets.sets.size(); ++i)
        text += (i > 0 ? ", " : "") + sets.names[i] + " (" + std::to_string(rows_of(sets.sets[i])) +
                " rows, weight " + number_word(weights[i] / sum) + ")";
    return text;
}

std::string data_set_text(const DataSets& sets) {
    if (sets.several()) return "";
    const data::SplitInfo& split = sets.first().split(data::format::train_split);
    return std::to_string(split.rows) + " rows with " +
           std::to_string(split.source_tokens + split.target_tokens) + " tokens in " +
           std::to_string(split.shards.size()) + (split.shards.size() == 1 ? " shard" : " shards");
}

std::string content_of(const DataSets& sets) {
    std::string hashes;
    for (const data::Dataset& set : sets.sets) {
        for (const data::ShardInfo& shard : set.split(data::format::train_split).shards) {
            if (shard.xxh3.empty()) return "";
            hashes += shard.xxh3 + "\n";
        }
        hashes += "\n";
    }
    return hex(hash64(hashes));
}

}  // namespace lockstep::launcher
