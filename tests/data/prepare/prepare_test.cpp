// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "data/storage/dataset_info.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"
#include "tests/data/prepare/prepare_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::tests;

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

std::size_t entries(const std::string& directory) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(directory)) ++count;
    return count;
}

}  // namespace

TEST_CASE("the Shakespeare dictionary equals ParlAI's byte for byte, and all rows are there") {
    const tests::ScratchFolder dir;
    const PrepareReport report = run_prepare(shakespeare(dir / "d"));
    CHECK(report.dictionary_size == 11016);
    CHECK(read_text(dir / "d/dictionary.txt") == read_text("examples/shakespeare/dict.parlai"));
    REQUIRE(report.splits.size() == 2);
    CHECK(report.splits[0].rows == 3192);
    CHECK(report.splits[1].rows == 356);

    const DatasetInfo info = read_dataset_info(dir / "d");
    CHECK(info.kind == DatasetKind::dialogue);
    CHECK(info.vocabulary == 11016);
    CHECK(info.dictionary_hash == hex(open_tokenizer(dir / "d")->hash()));
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
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "one");
    options.threads = 1;
    run_prepare(options);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times in files are seconds
    options.threads = 3;
    options.out = dir / "three";
    run_prepare(options);
    for (const char* file : {"dictionary.txt", "train-00000-of-00002.h5", "train-00001-of-00002.h5",
                             "valid-00000-of-00001.h5", "index.h5"}) {
        CAPTURE(file);
        CHECK(read_text(dir / "one/" + file) == read_text(dir / "three/" + file));
    }
}

TEST_CASE("an existing data set is replaced only when asked for") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    run_prepare(options);
    CHECK(prepare_error(options).find("--overwrite") != std::string::npos);
    options.existing = Existing::overwrite;
    options.shards = 1;
    run_prepare(options);
    CHECK(read_dataset_info(dir / "d").find("train")->shards.size() == 1);
    CHECK(entries(dir.path()) == 1);

    write_text(dir / "d/notes.md", "mine");
    std::filesystem::create_directory(dir / "d/checkpoints");
    CHECK(prepare_error(options).find(
              "also has checkpoints, notes.md, which --overwrite would delete") !=
          std::string::npos);
    CHECK(read_text(dir / "d/notes.md") == "mine");
    for (const char* name : {"a", "b", "c", "train-x0000-of-00001.h5"})
        write_text(dir / "d/" + name, "");
    CHECK(prepare_error(options).find("also has a, b, c and 3 more") != std::string::npos);

    write_text(dir / "other/file", "mine");
    options.out = dir / "other";
    CHECK(prepare_error(options).find("other files") != std::string::npos);
    CHECK(read_text(dir / "other/file") == "mine");
}

TEST_CASE("a symbolic link to a folder is followed") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "link");
    options.inputs = options.valid;
    std::filesystem::create_directory(dir / "disk");
    std::filesystem::create_directory_symlink("disk/data", dir / "link");
    CHECK(prepare_error(options).find("link to disk/data, which is not there") !=
          std::string::npos);
    std::filesystem::create_directory(dir / "disk/data");
    for (const Existing existing : {Existing::refuse, Existing::overwrite}) {
        options.existing = existing;
        run_prepare(options);
        CHECK(std::filesystem::is_symlink(dir / "link"));
        CHECK(read_dataset_info(dir / "disk/data").splits.size() == 2);
        CHECK(entries(dir / "disk") == 1);
    }
}

TEST_CASE("the share of unknown words is told, and a dictionary of lower-cased text recognised") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    std::string said;
    run_prepare(options, &said);
    CHECK(said.find("train: 3192 rows, 579029 tokens, 0.0 % __unk__\n") != std::string::npos);
    CHECK(said.find("warning") == std::string::npos);
    const SplitInfo valid = *read_dataset_info(dir / "d").find("valid");
    CHECK(valid.texts.unknown > 0);
    CHECK(valid.texts.all < valid.source_tokens + valid.target_tokens);

    options.tokenizer.dictionary = {};
    options.tokenizer.dict_file = "examples/shakespeare/dict.parlai";
    options.out = dir / "kept";
    run_prepare(options, &said);
    CHECK(said.find("warning: train: ") != std::string::npos);
    CHECK(said.find(
              "no word of examples/shakespeare/dict.parlai has an upper-case letter; was it made "
              "with --dict-lower true?") != std::string::npos);

    options.tokenizer = {};
    options.tokenizer.dictionary.max_tokens = 50;
    options.out = dir / "few";
    run_prepare(options, &said);
    CHECK(said.find("which a model can neither read nor say") != std::string::npos);
}

TEST_CASE("a dictionary of a data set brings its letter case, and its folder can be named") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    run_prepare(options);
    const std::string hash = read_dataset_info(dir / "d").dictionary_hash;
    options.tokenizer.dictionary.letter_case = LetterCase::keep;
    for (const char* name : {"d", "d/dictionary.txt"}) {
        options.tokenizer.dict_file = dir / name;
        options.out = dir / (std::string(name) + "-again");
        run_prepare(options);
        CHECK(read_dataset_info(options.out).dictionary_hash == hash);
    }
    // Another toolkit's file of that name means nothing.
    write_text(dir / "own/tokenizer.json", "{\"version\": \"1.0\"}");
    std::filesystem::copy_file("examples/shakespeare/dict.parlai", dir / "own/dict");
    options.tokenizer.dict_file = dir / "own/dict";
    options.out = dir / "out";
    run_prepare(options);
    CHECK(read_dataset_info(dir / "out").dictionary_hash != hash);
}

TEST_CASE(
    "a SentencePiece model of a data set needs no --tokenizer, and one of fewer pieces is told") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    options.inputs = options.valid;
    options.tokenizer.kind = TokenizerKind::sentencepiece;
    std::string said;
    run_prepare(options, &said);
    const std::int32_t pieces = open_tokenizer(dir / "d")->size();
    CHECK(said.find("SentencePiece made " + std::to_string(pieces) +
                    " pieces, not the --vocab-size of 8000") != std::string::npos);
    options.tokenizer = {};
    options.tokenizer.dict_file = dir / "d";
    options.out = dir / "again";
    run_prepare(options, &said);
    CHECK(open_tokenizer(dir / "again")->name() == "sentencepiece");
    CHECK(said.find("--vocab-size") == std::string::npos);
}

TEST_CASE("a dictionary can be reused") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    options.tokenizer.dict_file = "examples/shakespeare/dict.parlai";
    options.inputs = {"examples/shakespeare/valid.txt"};
    options.valid = {};
    CHECK(run_prepare(options).dictionary_size == 11016);
    CHECK(read_dataset_info(dir / "d").splits.size() == 1);
}

TEST_CASE(
    "the test split is as the validation split, and needs no training text with a dictionary") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    options.test = options.valid;
    const PrepareReport report = run_prepare(options);
    REQUIRE(report.splits.size() == 3);
    CHECK(report.splits[2].name == "test");
    CHECK(report.splits[2].tokens == report.splits[1].tokens);
    CHECK(report.splits[2].bytes_read == report.splits[1].bytes_read);
    CHECK(std::filesystem::exists(dir / "d/test-00000-of-00001.h5"));

    options.inputs = options.valid = {};
    options.out = dir / "t";
    CHECK(prepare_error(options).find("--input") != std::string::npos);
    options.tokenizer.dict_file = dir / "d/dictionary.txt";
    CHECK(run_prepare(options).splits.size() == 1);
    const DatasetInfo info = read_dataset_info(dir / "t");
    CHECK(info.dictionary_hash == read_dataset_info(dir / "d").dictionary_hash);
    CHECK(info.find("train") == nullptr);
    CHECK(info.find("test")->rows == 356);
    options.test = {};
    CHECK(prepare_error(options).find("--input") != std::string::npos);
}

TEST_CASE("SentencePiece is trained inside") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    options.tokenizer.kind = TokenizerKind::sentencepiece;
    options.tokenizer.vocab_size = 1000;
    options.tokenizer.sample_sentences = 2000;
    CHECK(run_prepare(options).dictionary_size <= 1000);
    CHECK(open_tokenizer(dir / "d")->name() == "sentencepiece");
}

TEST_CASE("more shards than blocks of rows are warned of") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "d");
    options.inputs = options.valid;
    options.shards = 8;
    std::string said;
    run_prepare(options, &said);
    CHECK(said.find("356 rows fill only 6 of 8 shards") != std::string::npos);
}

TEST_CASE("wrong requests and bad input are one line, and nothing is left behind") {
    const tests::ScratchFolder dir;
    auto options = shakespeare(dir / "out");
    const auto refused = [&](const std::string& expected) {
        const std::string error = prepare_error(options);
        CAPTURE(error);
        CHECK(error.find(expected) != std::string::npos);
        CHECK(error.find('\n') == std::string::npos);
        CHECK_FALSE(std::filesystem::exists(dir / "out"));
    };
    options.shards = 0;
    refused("--shards 0");
    options.shards = 513;
    refused("--shards 513");
    options = shakespeare(dir / "out");
    options.inputs = {dir / "absent.txt"};
    refused(dir / "absent.txt" + ": no such file");
    options.inputs = {dir.path()};
    refused("not a regular file");
    write_text(dir / "empty.txt", "");
    options.inputs = {dir / "empty.txt"};
    refused("empty.txt: the file is empty");
    write_text(dir / "blank.txt", "\n\n");
    options.inputs = {dir / "blank.txt"};
    refused("blank.txt: no examples in it");
    write_text(dir / "bad.txt", "text:a\tlabels:b\ntext:\xFF\tlabels:c\n");
    options.inputs = {dir / "bad.txt"};
    refused(dir / "bad.txt" + ":2: not valid UTF-8");
    options.inputs = {"examples/shakespeare/train.txt"};
    options.valid = {dir / "bad.txt"};
    refused(dir / "bad.txt" + ":2: not valid UTF-8");
    options = shakespeare(dir / "out");
    options.tokenizer.dictionary.max_tokens = 4;
    refused("no word for the dictionary");
    options = shakespeare(dir / "out");
    options.tokenizer.kind = TokenizerKind::sentencepiece;
    options.tokenizer.dict_file = dir / "bad.txt";
    refused("bad.txt: not a SentencePiece model, or a damaged one; copy it again");
    options = shakespeare(dir / "empty.txt" + "/out");
    CHECK(prepare_error(options).find("cannot make this folder") != std::string::npos);
    options.inputs = {};
    refused("--input");
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
        CHECK(entry.path().string().find("partial") == std::string::npos);
}

TEST_CASE("what is odd in texts is told once, with the same words for any number of threads") {
    const tests::ScratchFolder dir;
    std::string text;
    for (int i = 0; i < 60'000; ++i)
        text += "text:question " + std::to_string(i) + "\tlabels:it says " +
                (i % 10'000 == 9'999 ? "__end__" : "so") + "\t" +
                (i % 20'000 == 19'999 ? "note:x\t" : "") + "episode_done:True\n";
    write_text(dir / "t", text);
    write_text(dir / "v", "text:question 1\tlabels:it says so\tnote:y\n");
    PrepareOptions options;
    options.inputs = {dir / "t"};
    options.valid = {dir / "v"};
    std::string first;
    for (const int threads : {1, 3}) {
        options.threads = threads;
        options.out = dir / std::to_string(threads);
        std::string said;
        run_prepare(options, &said);
        CAPTURE(said);
        const std::size_t begin = said.find("warning: ");
        const std::string warnings = said.substr(begin, said.find("train: 60000") - begin);
        CHECK(warnings ==
              "warning: " + (dir / "t") +
                  ":10000: the word '__end__' has the name of a special token; in a text it is an "
                  "unknown word, and not that token (6 times)\nwarning: " +
                  (dir / "t") +
                  ":20000: the field 'note' is unknown and is left out; a tab inside of a text is "
                  "written \\t (4 times)\n");
        if (first.empty()) first = warnings;
        CHECK(warnings == first);
    }
}

TEST_CASE("plain text of names of special tokens, and texts that a SentencePiece model changes") {
    const tests::ScratchFolder dir;
    write_text(dir / "t", "one two\nthree __null__ four\n__null__\n");
    PrepareOptions options;
    options.inputs = {dir / "t"};
    options.read.format = TextFormat::text;
    options.out = dir / "d";
    std::string said;
    run_prepare(options, &said);
    CHECK(said.find("t:2: the word '__null__' has the name of a special token") !=
          std::string::npos);
    CHECK(said.find("(2 times)") != std::string::npos);
}

TEST_CASE("--date is a day") {
    const tests::ScratchFolder dir;
    PrepareOptions options = shakespeare(dir / "d");
    for (const char* wrong : {"today", "2024-02-30", "2024-7-26", "0000-01-01", "2024-07-26x"}) {
        options.date = wrong;
        CHECK(prepare_error(options) ==
              "--date " + std::string(wrong) + ": is no day; write it as 2024-07-26");
    }
}
