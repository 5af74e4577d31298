// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/inspect.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "data/prepare/prepare.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

void make(const std::string& out, const std::string& input, TextFormat format,
          const std::string& valid = "") {
    PrepareOptions options;
    options.inputs = {input};
    if (!valid.empty()) options.valid = options.test = {valid};
    options.read.format = format;
    options.block_size = 8;
    options.threads = 1;
    options.out = out;
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    prepare(options, log);
}

std::string inspected(const std::string& directory, int rows = 10) {
    std::ostringstream out;
    inspect({.data = directory, .sample_rows = rows}, out);
    return out.str();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("rows of a dialogue: contexts with history, targets, labels as written") {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "t",
                      "text:How are you?\tlabels:Fine.\ntext:Good\tlabels:Yes\tepisode_done:True\n"
                      "text:\tlabels:Hello you\n");
    tests::write_text(dir / "v", "text:How?\tlabels:Fine you|so  so\n");
    make(dir / "d", dir / "t", TextFormat::parlai, dir / "v");
    const std::string text = inspected(dir / "d");
    CAPTURE(text);
    CHECK(has(text, "dialogue, tokenizer re of 13 tokens"));
    CHECK(has(text, "train: 3 rows in 1 shard\n"));
    CHECK(has(text, "row 0\n    source: How are you ?\n    target: Fine .\n"));
    // The line feed between turns was never counted, hence unknown, as in ParlAI.
    CHECK(has(text,
              "row 1\n    source: How are you ? __unk__ Fine . __unk__ Good\n    target: Yes\n"));
    CHECK(has(text, "row 2\n    target: Hello you\n") == false);
    CHECK(has(text, "row 2\n    source: \n    target: Hello you\n"));
    CHECK(has(text, "label as written: Fine you\n    label as written: so  so\n"));
    // Each text once; the line feeds between turns do not count.
    CHECK(has(text, "  text: 10 tokens, 0.0 % __unk__\n"));
    CHECK(has(text, "  text: 4 tokens, 50.0 % __unk__\n"));  // "How ?" and "so  so"
    CHECK(has(text, "test: 1 row in 1 shard\n"));
    CHECK(has(text, "test-00000-of-00001.h5: 1 row,"));
    CHECK(has(text, "       8-15         1         0\n"));
    CHECK_FALSE(has(inspected(dir / "d", 0), "  row "));
}

TEST_CASE("documents: every token in one block, the end marked, no block across documents") {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "t", "one two three four\nfive\n\nsix seven eight\r\nnine ten\n");
    make(dir / "d", dir / "t", TextFormat::text);
    const std::string text = inspected(dir / "d");
    CAPTURE(text);
    CHECK(has(text, "language_model"));
    CHECK(has(text, "train: 2 rows in 1 shard\n"));
    CHECK(has(text, "source: 0 tokens"));
    CHECK(has(text, "target: 16 tokens"));  // ten words, five line feeds, the end
    CHECK(has(text, "target: one two three four  /  five  /   / "));
    CHECK(has(text, "target: six seven eight  /  nine ten  / "));
}

TEST_CASE("damage is named") {
    const tests::ScratchFolder dir;
    make(dir / "d", "examples/shakespeare/valid.txt", TextFormat::parlai);
    make(dir / "e", "examples/shakespeare/plain.txt", TextFormat::text);
    const auto error = [&] {
        try {
            inspected(dir / "d");
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    const std::string shard = dir / "d/train-00000-of-00001.h5";
    CHECK(error() == "no error");
    std::filesystem::copy_file(dir / "e/train-00000-of-00001.h5", shard,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(has(error(), shard));
    std::filesystem::resize_file(shard, 5000);
    CHECK(has(error(), shard));
    const std::string json = tests::read_text(dir / "d/dataset.json");
    const auto first_shard = json.find('{', json.find("\"shards\": ["));
    const auto last_shard = json.find(']', first_shard);
    REQUIRE(last_shard < json.size());
    for (const std::string& damaged :
         {std::string("{"), json.substr(0, first_shard) + json.substr(last_shard)}) {
        tests::write_text(dir / "d/dataset.json", damaged);
        CHECK(has(error(), dir / "d/dataset.json: is damaged"));
    }
    CHECK_THROWS_AS(inspected(dir / "absent"), Error);
}

TEST_CASE(
    "a shard that is not the file that prepare wrote is named, if dataset.json has its hash") {
    const tests::ScratchFolder dir;
    make(dir / "d", "examples/shakespeare/valid.txt", TextFormat::parlai);
    const auto verified = [&] {
        std::ostringstream out;
        using Shards = InspectOptions::Shards;
        inspect({.data = dir / "d", .sample_rows = 0, .shards = Shards::verify}, out);
        return out.str();
    };
    CHECK(
        has(verified(), "train-00000-of-00001.h5: every row was read, and its hash is the one in"));
    CHECK(
        verified().ends_with("d: intact: index.h5 and 1 shard have the hashes in dataset.json\n"));
    CHECK(has(verified(), " rows in 1 shard\n"));
    const std::string path = dir / "d/dataset.json", json = tests::read_text(path);
    const std::size_t hash = json.find("\"xxh3\": \"");
    REQUIRE(hash < json.size());
    std::string other = json;
    char& digit = other[hash + 9];
    digit = digit == '0' ? '1' : '0';
    tests::write_text(path, other);
    const std::string damaged = verified();
    const std::string verdict = damaged.substr(damaged.rfind('\n', damaged.size() - 2) + 1);
    CHECK(verdict.starts_with(dir / "d" + ": damaged: " +
                              (dir / "d/train-00000-of-00001.h5: is not the file that prepare")));
    CHECK_FALSE(has(inspected(dir / "d"), "hash is the one"));  // only on request
    const std::size_t begin = json.rfind(',', hash), end = json.find('}', hash);
    tests::write_text(path, json.substr(0, begin) + json.substr(end));
    CHECK(has(verified(), "every row was read; dataset.json has no hash of it"));
    CHECK(has(verified(), "no hash of 1 of 2 files"));
}

TEST_CASE("each damaged file is told, and a tokenizer that contradicts the data set") {
    const tests::ScratchFolder dir;
    make(dir / "d", "examples/shakespeare/valid.txt", TextFormat::parlai,
         "examples/shakespeare/valid.txt");
    const std::string path = dir / "d/dataset.json", json = tests::read_text(path);
    const auto verified = [&] {
        std::ostringstream out;
        inspect({.data = dir / "d", .shards = InspectOptions::Shards::verify}, out);
        return out.str();
    };
    const std::string name = "\"tokenizer\": \"re\"";
    REQUIRE(has(json, name));
    tests::write_text(path, std::string(json).replace(json.find(name), name.size(),
                                                      "\"tokenizer\": \"sentencepiece\""));
    CHECK(has(verified(), "d: damaged: " + path + ": \"tokenizer\" is sentencepiece, but "));
    const std::string train = dir / "d/train-00000-of-00001.h5", index = dir / "d/index.h5",
                      valid = dir / "d/valid-00000-of-00001.h5";
    for (const std::string& file : {train, valid, index}) {
        std::string bytes = tests::read_text(file);
        bytes[0] = 'x';
        tests::write_text(file, bytes);
    }
    const std::string damaged = dir / "d" + ": damaged: ";
    CHECK(has(verified(), "\n" + damaged + path + ": \"tokenizer\" is"));
    CHECK(has(verified(), "\n" + damaged + index));
    tests::write_text(path, json);
    const std::string text = verified();
    const std::size_t verdict = text.find("\n" + damaged);
    REQUIRE(verdict < text.size());
    CHECK(text.substr(verdict + 1).starts_with(damaged + train));
    CHECK(has(text, "\n" + damaged + valid));
    CHECK(has(text, "\n" + damaged + index));
}

TEST_CASE("counts that are not those of the rows are damage, and so is a split that comes twice") {
    const tests::ScratchFolder dir;
    make(dir / "d", "examples/shakespeare/valid.txt", TextFormat::parlai);
    const std::string path = dir / "d/dataset.json", json = tests::read_text(path);
    const auto failure = [&] {
        std::ostringstream out;
        using Shards = InspectOptions::Shards;
        inspect({.data = dir / "d", .sample_rows = 0, .shards = Shards::verify}, out);
        return out.str();
    };
    for (const std::string name :
         {"source_tokens", "target_tokens", "longest_source", "longest_target"}) {
        CAPTURE(name);
        const std::size_t at = json.find("\"" + name + "\": ") + name.size() + 4;
        REQUIRE(at < json.size());
        tests::write_text(path, json.substr(0, at) + "1" + json.substr(at));
        CHECK(has(failure(), ": damaged: " + path + ": \"" + name + "\" of train is 1"));
    }
    const std::size_t begin = json.find('{', json.find("\"splits\""));
    const std::size_t end = json.rfind('}', json.rfind(']')) + 1;
    tests::write_text(path, json.substr(0, end) + ", " + json.substr(begin));
    CHECK(has(failure(), "the name of one split alone"));
    CHECK_FALSE(has(failure(), "intact"));
}

TEST_CASE("an index that was changed, exchanged or lost is named on request") {
    const tests::ScratchFolder dir;
    make(dir / "d", "examples/shakespeare/valid.txt", TextFormat::parlai);
    const std::string path = dir / "d/index.h5", index = tests::read_text(path);
    const auto failure = [&]() -> std::string {
        std::ostringstream out;
        using Shards = InspectOptions::Shards;
        const Inspected found =
            inspect({.data = dir / "d", .sample_rows = 0, .shards = Shards::verify}, out);
        return found == Inspected::good ? "" : out.str();
    };
    CHECK(failure().empty());
    std::string changed = index;
    changed[changed.size() / 2] ^= 1;
    for (const std::string& other :
         {changed, tests::read_text(dir / "d/train-00000-of-00001.h5")}) {
        tests::write_text(path, other);
        CHECK(has(failure(), "index.h5: is not the file that prepare wrote"));
    }
    std::filesystem::remove(path);
    CHECK(has(failure(), ": damaged: " + path));
}
