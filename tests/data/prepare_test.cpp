// SPDX-License-Identifier: Apache-2.0
#include "data/prepare.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "data/dataset_info.hpp"
#include "data/tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/hash.hpp"
#include "tests/data/files.hpp"
#include "tests/data/temporary_directory.hpp"

using namespace lockstep;
using namespace lockstep::data;
using support::contents;
using support::write;

namespace {

PrepareOptions shakespeare(const std::string& out) {
    PrepareOptions options;
    options.inputs = {"examples/shakespeare/train.txt"};
    options.valid = {"examples/shakespeare/valid.txt"};
    options.tokenizer.dictionary.letter_case = LetterCase::lower;
    options.shards = 2;
    options.threads = 2;
    options.out = out;
    return options;
}

PrepareReport run(const PrepareOptions& options, std::string* said = nullptr) {
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    const PrepareReport report = prepare(options, log);
    if (said) *said = lines.str();
    return report;
}

std::string error_of(const PrepareOptions& options) {
    try {
        run(options);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

std::size_t entries(const std::string& directory) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(directory)) ++count;
    return count;
}

}  // namespace

TEST_CASE("the Shakespeare dictionary equals ParlAI's byte for byte, and all rows are there") {
    const support::TemporaryDirectory dir;
    const PrepareReport report = run(shakespeare(dir.path("d")));
    CHECK(report.dictionary_size == 11016);
    CHECK(contents(dir.path("d/dictionary.txt")) == contents("examples/shakespeare/dict.parlai"));
    REQUIRE(report.splits.size() == 2);
    CHECK(report.splits[0].rows == 3192);
    CHECK(report.splits[1].rows == 356);

    const DatasetInfo info = read_dataset_info(dir.path("d"));
    CHECK(info.kind == DatasetKind::dialogue);
    CHECK(info.vocabulary == 11016);
    CHECK(info.dictionary_hash == hex(open_tokenizer(dir.path("d"))->hash()));
    const SplitInfo& train = *info.find("train");
    CHECK(train.rows == 3192);
    CHECK(train.longest_source == 1037);
    CHECK(train.longest_target == 730);
    REQUIRE(train.shards.size() == 2);
    CHECK(train.shards[0].rows + train.shards[1].rows == 3192);
    CHECK(train.shards[0].tokens + train.shards[1].tokens ==
          train.source_tokens + train.target_tokens);
    CHECK(info.find("valid")->shards.size() == 1);
    CHECK(info.find("test") == nullptr);
}

TEST_CASE("the result depends on neither the number of threads nor the time") {
    const support::TemporaryDirectory dir;
    auto options = shakespeare(dir.path("one"));
    options.threads = 1;
    run(options);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times in files are seconds
    options.threads = 3;
    options.out = dir.path("three");
    run(options);
    for (const char* file : {"dictionary.txt", "train-00000-of-00002.h5", "train-00001-of-00002.h5",
                             "valid-00000-of-00001.h5", "index.h5"}) {
        CAPTURE(file);
        CHECK(contents(dir.path("one/") + file) == contents(dir.path("three/") + file));
    }
}

TEST_CASE("an existing data set is replaced only when asked for") {
    const support::TemporaryDirectory dir;
    auto options = shakespeare(dir.path("d"));
    run(options);
    CHECK(error_of(options).find("--overwrite") != std::string::npos);
    options.existing = Existing::overwrite;
    options.shards = 1;
    run(options);
    CHECK(read_dataset_info(dir.path("d")).find("train")->shards.size() == 1);
    CHECK(entries(dir.path()) == 1);

    write(dir.path("other/file"), "mine");
    options.out = dir.path("other");
    CHECK(error_of(options).find("other files") != std::string::npos);
    CHECK(contents(dir.path("other/file")) == "mine");
}

TEST_CASE("a dictionary can be reused") {
    const support::TemporaryDirectory dir;
    auto options = shakespeare(dir.path("d"));
    options.tokenizer.dict_file = "examples/shakespeare/dict.parlai";
    options.inputs = {"examples/shakespeare/valid.txt"};
    options.valid = {};
    CHECK(run(options).dictionary_size == 11016);
    CHECK(read_dataset_info(dir.path("d")).splits.size() == 1);
}

TEST_CASE("SentencePiece is trained inside") {
    const support::TemporaryDirectory dir;
    auto options = shakespeare(dir.path("d"));
    options.tokenizer.kind = TokenizerKind::sentencepiece;
    options.tokenizer.vocab_size = 1000;
    options.tokenizer.sample_sentences = 2000;
    CHECK(run(options).dictionary_size <= 1000);
    CHECK(open_tokenizer(dir.path("d"))->name() == "sentencepiece");
}

TEST_CASE("more shards than blocks of rows are warned of") {
    const support::TemporaryDirectory dir;
    auto options = shakespeare(dir.path("d"));
    options.inputs = options.valid;
    options.shards = 8;
    std::string said;
    run(options, &said);
    CHECK(said.find("356 rows fill only 6 of 8 shards") != std::string::npos);
}

TEST_CASE("wrong requests and bad input are one line, and nothing is left behind") {
    const support::TemporaryDirectory dir;
    auto options = shakespeare(dir.path("out"));
    const auto refused = [&](const std::string& expected) {
        const std::string error = error_of(options);
        CAPTURE(error);
        CHECK(error.find(expected) != std::string::npos);
        CHECK(error.find('\n') == std::string::npos);
        CHECK_FALSE(std::filesystem::exists(dir.path("out")));
    };
    options.shards = 0;
    refused("--shards 0");
    options.shards = 513;
    refused("--shards 513");
    options = shakespeare(dir.path("out"));
    options.inputs = {dir.path("absent.txt")};
    refused(dir.path("absent.txt") + ": no such file");
    options.inputs = {dir.path()};
    refused("not a regular file");
    write(dir.path("empty.txt"), "");
    options.inputs = {dir.path("empty.txt")};
    refused("empty.txt: the file is empty");
    write(dir.path("blank.txt"), "\n\n");
    options.inputs = {dir.path("blank.txt")};
    refused("blank.txt: no examples in it");
    write(dir.path("bad.txt"), "text:a\tlabels:b\ntext:\xFF\tlabels:c\n");
    options.inputs = {dir.path("bad.txt")};
    refused(dir.path("bad.txt") + ":2: not valid UTF-8");
    options.inputs = {"examples/shakespeare/train.txt"};
    options.valid = {dir.path("bad.txt")};
    refused(dir.path("bad.txt") + ":2: not valid UTF-8");
    options = shakespeare(dir.path("empty.txt") + "/out");
    CHECK(error_of(options).find("cannot make this folder") != std::string::npos);
    options.inputs = {};
    refused("--input");
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
        CHECK(entry.path().string().find("partial") == std::string::npos);
}
