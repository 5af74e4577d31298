// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "data/prepare/prepare.hpp"
#include "data/storage/dataset.hpp"
#include "data/storage/shard_reader.hpp"
#include "data/storage/shard_store.hpp"
#include "data/tokenizers/dataset_tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::tests;

namespace {

using Row = std::vector<std::int32_t>;  // source, -1, target

std::string prepared(const PrepareOptions& options) {
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    prepare(options, log);
    return lines.str();
}

std::string complaint_of(const PrepareOptions& options) {
    try {
        prepared(options);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

// The rows of a split in their order.
std::vector<Row> rows_of(const std::string& folder, const std::string& split) {
    const Dataset dataset = Dataset::open(folder);
    const SplitInfo& info = *dataset.info().find(split);
    std::vector<Row> rows(info.rows);
    for (std::size_t shard = 0; shard < info.shards.size(); ++shard) {
        ShardReader reader(dataset.shard_path(info.shards[shard]),
                           shard_identity(dataset, info, shard));
        std::vector<RowExtent> extents;
        reader.append_extents(0, static_cast<std::int64_t>(info.shards[shard].rows), extents);
        for (const RowExtent& extent : extents) {
            Row tokens(static_cast<std::size_t>(extent.source + extent.label));
            reader.read_tokens(extent.first_token, tokens);
            tokens.insert(tokens.begin() + extent.source, -1);
            rows.at(static_cast<std::size_t>(extent.row)) = tokens;
        }
    }
    return rows;
}

bool is_subsequence(const std::vector<Row>& part, const std::vector<Row>& whole) {
    auto at = whole.begin();
    for (const Row& row : part) {
        at = std::find(at, whole.end(), row);
        if (at == whole.end()) return false;
        ++at;
    }
    return true;
}

PrepareOptions shakespeare_words(const std::string& out) {
    PrepareOptions options;
    options.inputs = {"examples/shakespeare/train.txt"};
    options.tokenizer.dict_file = "examples/shakespeare/dict.parlai";
    options.tokenizer.dictionary.letter_case = LetterCase::lower;
    options.threads = 2;
    options.out = out;
    return options;
}

// A unit in this format. All its words are "u" and its number.
std::string unit_text(const ReadOptions& read, int unit) {
    const std::string word = "u" + std::to_string(unit), filler(1500, ' ');
    std::string text;
    const int turns = 1 + unit % 3;
    switch (read.format) {
        case TextFormat::parlai:
            for (int turn = 1; turn <= turns; ++turn)
                text += "text:" + word + filler + "\tlabels:" + word +
                        (turn == turns ? "\tepisode_done:True\n" : "\n");
            return text;
        case TextFormat::fbdialog:
            for (int turn = 1; turn <= turns; ++turn)
                text += std::to_string(turn) + " " + word + filler + "\t" + word + "\n";
            return text;
        case TextFormat::jsonl:
            text = R"({"dialog": [[{"text": "W"}, {"text": "W"}, {"text": "W"}]]})" + filler + "\n";
            break;
        case TextFormat::messages:
            text =
                R"({"messages": [{"role": "user", "content": "W"}, {"role": "assistant", "content": "W"}]})" +
                filler + "\n";
            break;
        case TextFormat::json_texts:
            text = R"({"text": "W"})" + filler + "\n";
            break;
        case TextFormat::text:
            return word + "\n" + word + " " + word + filler + word + "\n\n";
    }
    for (std::size_t at; (at = text.find("\"W\"")) != std::string::npos;)
        text.replace(at, 3, "\"" + word + "\"");
    return text;
}

// The words that each split's rows have, without special tokens.
std::map<std::string, std::set<std::string>> words_of(const std::string& folder) {
    const Dataset dataset = Dataset::open(folder);
    const auto tokenizer = tokenizer_of(dataset);
    std::map<std::string, std::set<std::string>> words;
    for (const SplitInfo& split : dataset.info().splits) {
        for (const Row& row : rows_of(folder, split.name)) {
            Row ids;
            std::copy_if(row.begin(), row.end(), std::back_inserter(ids),
                         [](auto id) { return id > 3; });
            std::istringstream decoded(tokenizer->decode(ids));
            for (std::string word; decoded >> word;)
                if (word != "__SILENCE__") words[split.name].insert(word);
        }
    }
    return words;
}

}  // namespace

TEST_CASE("the splits of one file are its rows, each in one split and in the order of the file") {
    const ScratchFolder dir;
    auto options = shakespeare_words(dir / "whole");
    prepared(options);
    const std::vector<Row> whole = rows_of(dir / "whole", "train");
    options.out = dir / "held";
    options.held_out = {.valid = 0.1, .test = 0.05};
    options.shards = 3;
    const std::string said = prepared(options);
    CHECK(said.find("of 798 episodes: train 678, valid 80, test 40 (--split-seed 1)\n") !=
          std::string::npos);
    std::vector<Row> all;
    for (const char* split : {"train", "valid", "test"}) {
        const std::vector<Row> rows = rows_of(dir / "held", split);
        CHECK(is_subsequence(rows, whole));
        all.insert(all.end(), rows.begin(), rows.end());
    }
    CHECK(rows_of(dir / "held", "valid").size() == 320);
    std::vector<Row> sorted = whole;
    std::sort(sorted.begin(), sorted.end());
    std::sort(all.begin(), all.end());
    CHECK(all == sorted);

    const auto json = nlohmann::json::parse(read_text(dir / "held/dataset.json"));
    const auto expected = nlohmann::json::parse(
        R"({"valid_fraction": 0.1, "test_fraction": 0.05, "split_seed": 1, "unit": "episodes",
            "units": {"train": 678, "valid": 80, "test": 40}})");
    CHECK(json["options"]["held_out"] == expected);
    CHECK_FALSE(nlohmann::json::parse(read_text(dir / "whole/dataset.json"))["options"].contains(
        "held_out"));

    const std::vector<Row> first = rows_of(dir / "held", "valid");
    options.held_out.seed = 2;
    options.out = dir / "other";
    prepared(options);
    CHECK(rows_of(dir / "other", "valid") != first);
}

TEST_CASE(
    "what is held out depends on neither threads, shards nor compression, and the dictionary is "
    "the training part's") {
    const ScratchFolder dir;
    for (const TextFormat format : {TextFormat::parlai, TextFormat::fbdialog, TextFormat::jsonl,
                                    TextFormat::messages, TextFormat::text}) {
        PrepareOptions options;
        options.read = {.format = format, .documents = Documents::blank_line};
        constexpr int units = 1600;  // several chunks of text
        std::string text;
        for (int unit = 0; unit < units; ++unit) text += unit_text(options.read, unit);
        const std::string file = dir / (std::to_string(static_cast<int>(format)) + ".txt");
        write_text(file, text);
        REQUIRE(std::system(("gzip -1 -k " + file).c_str()) == 0);
        options.inputs = {file};
        options.held_out = {.valid = 0.02, .test = 0.01};
        CAPTURE(text.substr(0, 40));

        std::vector<Row> expected[3];
        for (const int threads : {1, 2, 4, 7}) {
            options.threads = threads;
            options.shards = threads;
            if (threads == 7) options.inputs = {file + ".gz"};
            options.out = file + "-" + std::to_string(threads);
            prepared(options);
            std::size_t at = 0;
            for (const char* split : {"train", "valid", "test"}) {
                const std::vector<Row> rows = rows_of(options.out, split);
                if (threads == 1) expected[at] = rows;
                CHECK(rows == expected[at]);
                ++at;
            }
        }
        // Only words of the training part are known, so that only they can be read in the others.
        const auto words = words_of(file + "-1");
        CHECK(words.at("train").size() == units - 48);
        CHECK(words.find("valid") == words.end());
        CHECK(words.find("test") == words.end());

        // With the words of all, each unit is in one split.
        options.held_out = {};
        options.inputs = {file};
        options.out = file + "-all";
        prepared(options);
        options.tokenizer.dict_file = options.out;
        options.held_out = {.valid = 0.02, .test = 0.01};
        options.out = file + "-known";
        prepared(options);
        const auto known = words_of(options.out);
        CHECK(known.at("train") == words.at("train"));
        CHECK(known.at("valid").size() == 32);
        CHECK(known.at("test").size() == 16);
        std::set<std::string> all;
        for (const auto& [split, of_split] : known) all.insert(of_split.begin(), of_split.end());
        CHECK(all.size() == units);
    }
}

TEST_CASE("a text without documents is held out by stretches, and no block spans a gap") {
    const ScratchFolder dir;
    std::string text;
    constexpr int words = 4000;
    for (int word = 0; word < words; ++word)
        text += "w" + std::to_string(word) + (word % 3 == 2 ? "\n" : " ");
    write_text(dir / "t.txt", text);
    PrepareOptions options;
    options.read.format = TextFormat::text;
    options.inputs = {dir / "t.txt"};
    options.block_size = 16;
    options.out = dir / "all";
    prepared(options);
    options.tokenizer.dict_file = dir / "all";
    options.held_out = {.valid = 0.2};
    options.out = dir / "d";
    CHECK(prepared(options).find(" stretches of text: train ") != std::string::npos);
    const auto tokenizer = tokenizer_of(Dataset::open(dir / "d"));
    std::vector<bool> seen(words);
    std::size_t ends = 0;
    for (const char* split : {"train", "valid"}) {
        for (const Row& row : rows_of(dir / "d", split)) {
            ends += static_cast<std::size_t>(std::count(row.begin(), row.end(), 2));
            int last = -1;
            Row ids;
            std::copy_if(row.begin(), row.end(), std::back_inserter(ids),
                         [](auto id) { return id > 3; });
            std::istringstream decoded(tokenizer->decode(ids));
            for (std::string word; decoded >> word;) {
                const int number = std::stoi(word.substr(1));
                if (last >= 0) CHECK(number == last + 1);
                last = number;
                CHECK_FALSE(seen.at(static_cast<std::size_t>(number)));
                seen.at(static_cast<std::size_t>(number)) = true;
            }
        }
    }
    CHECK(std::count(seen.begin(), seen.end(), false) == 0);
    CHECK(ends == 1);  // the file's end is the only one of a document
    const double held = static_cast<double>(rows_of(dir / "d", "valid").size());
    CHECK(held > 0.15 * static_cast<double>(rows_of(dir / "all", "train").size()));
}

TEST_CASE("SentencePiece is trained on the training part") {
    const ScratchFolder dir;
    auto options = shakespeare_words(dir / "d");
    options.tokenizer = {};
    options.tokenizer.kind = TokenizerKind::sentencepiece;
    options.tokenizer.vocab_size = 500;
    const auto sampled = [&] {
        const std::string said = prepared(options);
        const std::size_t at = said.find("training SentencePiece on ");
        return std::stoi(said.substr(at + 26));
    };
    const int all = sampled();
    options.held_out = {.valid = 0.5};
    options.out = dir / "half";
    const int half = sampled();
    CHECK(half > 0.3 * all);
    CHECK(half < 0.7 * all);
}

TEST_CASE("a held-out part that cannot be is refused in one line, and nothing is left behind") {
    const ScratchFolder dir;
    auto options = shakespeare_words(dir / "out");
    const auto refused = [&](const std::string& expected) {
        const std::string error = complaint_of(options);
        CAPTURE(error);
        CHECK(error.find(expected) != std::string::npos);
        CHECK(error.find('\n') == std::string::npos);
        CHECK_FALSE(std::filesystem::exists(dir / "out"));
    };
    options.held_out = {.valid = 0.1};
    options.valid = {"examples/shakespeare/valid.txt"};
    refused("--valid names files and --valid-fraction takes them from --input; leave one");
    options.held_out = {.test = 0.1};
    options.test = options.valid;
    refused("--test names files and --test-fraction");
    options.test = {};
    options.inputs = {};
    refused("--test-fraction: takes its rows from --input");
    options = shakespeare_words(dir / "out");
    for (const double fraction : {-0.1, 1.0, 1.5}) {
        options.held_out = {.valid = fraction};
        refused("--valid-fraction: must be more than 0 and less than 1");
    }
    options.held_out = {.valid = 0.5, .test = 0.5};
    refused("their sum must be less than 1");
    options.held_out = {.valid = 0.5};
    write_text(dir / "one.txt", "text:a\tlabels:b\ntext:c\tlabels:d\n");
    options.inputs = {dir / "one.txt"};
    refused("one.txt: has 1 of the 2 episodes that its splits need");
    write_text(dir / "blank.txt", "\n\n");
    options.inputs = {dir / "blank.txt"};
    refused("blank.txt: no examples in it");
    // Some episodes have no answer. The seed decides which split gets only such ones.
    options.read.format = TextFormat::fbdialog;
    write_text(dir / "silent.txt", "1 a\n1 b\n1 c\n1 d\te\n");
    options.inputs = {dir / "silent.txt"};
    options.held_out.valid = 0.25;
    std::set<std::string> errors;
    for (options.held_out.seed = 1; options.held_out.seed < 40; ++options.held_out.seed)
        errors.insert(complaint_of(options));
    const std::string begin = dir / "silent.txt" + ": ",
                      end = " and have no examples; choose another --split-seed or other fractions";
    CHECK(errors == std::set{begin + "1 of its 4 episodes are for valid" + end,
                             begin + "3 of its 4 episodes are for train" + end});
    write_text(dir / "silent.txt", "1 a\n1 b\n1 c\n1 d\n");
    refused("silent.txt: no examples in it; check --format");
}

TEST_CASE("a held-out part goes with a test file of its own") {
    const ScratchFolder dir;
    auto options = shakespeare_words(dir / "d");
    options.held_out = {.valid = 0.1};
    options.test = {"examples/shakespeare/valid.txt"};
    prepared(options);
    const DatasetInfo info = read_dataset_info(dir / "d");
    REQUIRE(info.splits.size() == 3);
    CHECK(info.splits[1].name == "valid");
    CHECK(info.find("test")->rows == 356);
    CHECK(info.find("train")->rows + info.find("valid")->rows == 3192);

    options.valid = options.test;
    options.test = {};
    options.held_out = {.test = 0.1};
    options.out = dir / "t";
    prepared(options);
    const DatasetInfo other = read_dataset_info(dir / "t");
    REQUIRE(other.splits.size() == 3);
    CHECK(other.splits[1].name == "valid");
    CHECK(other.splits[2].rows == info.splits[1].rows);
}
