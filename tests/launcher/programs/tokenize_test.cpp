// SPDX-License-Identifier: Apache-2.0
// `lockstep tokenize` with tokenizers of both kinds, and what wrong requests get.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string program = "lockstep tokenize ";

Json golden(const std::string& name) {
    return Json::parse(read_text("tests/data/tokenizer_json/golden/" + name + ".json"));
}

// A folder with the tokenizer of a golden file.
struct Folder {
    ScratchFolder scratch;
    std::string words;

    explicit Folder(const std::string& name) {
        write_text(scratch / "tokenizer.json", golden(name)["tokenizer"].dump());
        words = program + "-mf " + scratch.path() + " ";
    }
};

std::string ids_of(const Json& ids) {
    std::string text;
    for (const Json& id : ids) text += (text.empty() ? "" : " ") + id.dump();
    return text + "\n";
}

void refused(const std::string& line, const std::vector<std::string>& words,
             const std::string& input = "a\n") {
    const auto run = run_line(line, {input, {}, ""});
    CAPTURE(line);
    CAPTURE(run.out);
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(run.err.find(word) != std::string::npos);
    }
}

void refused_file(const std::string& text, const std::vector<std::string>& words) {
    const ScratchFolder scratch;
    write_text(scratch / "tokenizer.json", text);
    refused(program + "-mf " + scratch.path(), words);
}

}  // namespace

TEST_CASE("lines become ids, with what belongs around them, and ids become lines") {
    const Folder folder("llama3");
    std::string lines, ids, around, split;
    const Json cases = golden("llama3")["cases"];
    for (const Json& expected : cases) {
        const auto text = expected["text"].get<std::string>();
        if (text.find_first_of("\r\n\x1A") != std::string::npos || text.starts_with("\uFEFF"))
            continue;
        lines += text + "\n";
        ids += ids_of(expected["ids"]);
        around += ids_of(expected.value("around", expected["ids"]));
        split += ids_of(expected.value("split", expected["ids"]));
    }
    const auto answer = [&](const std::string& options) {
        const auto run = run_line(folder.words + options, {lines, {}, ""});
        CHECK(run.err == "");
        return run.out;
    };
    CHECK(answer("") == around);
    CHECK(answer("--add-special-tokens false") == ids);
    CHECK(answer("--add-special-tokens false --split-special-tokens") == split);
    write_text(folder.scratch / "lines.txt", lines);
    CHECK(run_line(folder.words + (folder.scratch / "lines.txt")).out == around);
    CHECK(
        run_line(program + (folder.scratch / "lines.txt") + " -mf " + folder.scratch.path()).out ==
        around);
    const std::string decode = folder.words + "--decode --skip-special-tokens false";
    CHECK(run_line(decode, {ids, {}, ""}).out == lines);
}

TEST_CASE("JSON holds ids, pieces and texts with line feeds") {
    const Folder folder("gpt2");
    const Json expected = golden("gpt2")["cases"][4];
    REQUIRE(expected["text"] == "hello\nworld\n");
    const std::string line = expected["text"].dump() + "\n";
    auto run = run_line(folder.words + "--format jsonl --json", {line, {}, ""});
    const Json answer = Json::parse(run.out);
    CHECK(answer["ids"] == expected["ids"]);
    CHECK(answer["pieces"].size() == expected["ids"].size());
    CHECK(answer["pieces"].back() == "\u010A");
    CHECK(run_line(folder.words + "--format jsonl", {"{\"text\": \"hello\\nworld\\n\"}\n", {}, ""})
              .out == ids_of(expected["ids"]));
    CHECK(run_line(folder.words + "--format whole", {"hello\nworld\n", {}, ""}).out ==
          ids_of(expected["ids"]));
    CHECK(run_line(folder.words + "--decode", {run.out, {}, ""}).out == "hello\\nworld\\n\n");
    run = run_line(folder.words + "--decode --json", {run.out, {}, ""});
    CHECK(Json::parse(run.out)["text"] == "hello\nworld\n");
}

TEST_CASE("the tokenizer of prepared data") {
    const PreparedDialogues prepared;
    const std::string words = program + "-mf " + prepared.data;
    const auto run = run_line(words, {"you and the\n", {}, ""});
    CHECK(run.code == 0);
    CHECK(run_line(words + " --decode", {run.out, {}, ""}).out == "you and the\n");
    refused(words + " --split-special-tokens", {"--split-special-tokens", prepared.data});
    refused(words + " --decode", {"standard input:1", "'99999'"}, "99999\n");
}

TEST_CASE("what the file says of truncation is not followed, which is said once") {
    const ScratchFolder scratch;
    Json file = golden("gpt2")["tokenizer"];
    file["truncation"] = {{"max_length", 2}};
    write_text(scratch / "tokenizer.json", file.dump());
    const auto run = run_line(program + "-mf " + scratch.path(), {"a b c d\na\n", {}, ""});
    CHECK(run.code == 0);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(run.err.find("\"truncation\" is not followed") != std::string::npos);
    CHECK(std::count(run.out.begin(), run.out.end(), ' ') == 3);
}

TEST_CASE("a wrong line of texts or ids") {
    const Folder folder("gpt2");
    refused(folder.words, {"standard input:2", "UTF-8", "byte 2"}, "a\na\xFF\n");
    refused(folder.words + "--format jsonl", {"standard input:1", "JSON"}, "a\n");
    refused(folder.words + "--format jsonl", {"standard input:1", "\"text\""}, "[1]\n");
    refused(folder.words + "--format whole", {"standard input", "UTF-8"}, "\xFF");
    for (const std::string id : {"-1", "99999", "99999999999999999999", "1.5", "x", "1,2"})
        refused(folder.words + "--decode", {"standard input:2", "'" + id + "'", "0 to 420"},
                "1 2\n3 " + id + "\n");
    for (const std::string ids : {"[-1]", "[421]", "[1.5]", "[\"1\"]", "[18446744073709551616]"})
        refused(folder.words + "--decode", {"standard input:1", "not an id"}, ids + "\n");
    refused(folder.words + "--decode", {"standard input:1", "JSON"}, "[1, 2\n");
    refused(folder.words + "--decode", {"standard input:1", "\"ids\""}, "{\"id\": 1}\n");
    refused(folder.words + (folder.scratch / "none.txt"), {"none.txt"});
    refused(folder.words + "--input " + folder.scratch.path(), {"folder"});
    refused(folder.words + "--format words", {"--format", "words"});
}

TEST_CASE("a folder without a tokenizer") {
    const ScratchFolder scratch;
    refused("lockstep tokenize", {"--model-file"});
    refused(program + "-mf " + (scratch / "none"), {"none", "folder"});
    refused(program + "-mf " + scratch.path(), {scratch.path(), "tokenizer.json", "vocab.json"});
    write_text(scratch / "model.safetensors", "x");
    write_text(scratch / "config.json", "{\"model_type\": \"llama\"}");
    refused(program + "-mf " + scratch.path(), {scratch.path(), "has no tokenizer"});
    write_text(scratch / "tokenizer.model", "x");
    refused(program + "-mf " + scratch.path(), {"tokenizer.model", "not a SentencePiece model"});
    write_text(scratch / "vocab.json", "{\"a\": 0}");
    refused(program + "-mf " + scratch.path(), {"tokenizer.model"});
    fs::remove(scratch / "tokenizer.model");
    refused(program + "-mf " + scratch.path(), {"has no tokenizer"});
    fs::create_directory(scratch / "tokenizer.json");
    refused(program + "-mf " + scratch.path(), {"tokenizer.json"});
}

TEST_CASE("a damaged tokenizer.json") {
    const Json good = golden("gpt2")["tokenizer"];
    const std::string text = good.dump();
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 1})
        refused_file(text.substr(0, size), {"tokenizer.json", "not JSON"});
    const auto changed = [&](const std::string& pointer, const Json& value) {
        Json json = good;
        json[Json::json_pointer(pointer)] = value;
        return json.dump();
    };
    refused_file(changed("/model/merges/0", "a nowhere"), {"tokenizer.json", "'nowhere'"});
    refused_file(changed("/model/vocab/new", 7), {"tokenizer.json", "the id 7 belongs to two"});
    refused_file(changed("/model/vocab/new", -7), {"tokenizer.json", "'new'", "-7"});
    refused_file(changed("/model/vocab/new", 4'000'000'000), {"'new'", "4000000000"});
    refused_file(changed("/model/vocab/new", "7"), {"tokenizer.json", "'new'"});
    refused_file(changed("/model/type", "Unigram"), {"tokenizer.json", "'Unigram'", "BPE"});
    refused_file(changed("/normalizer", {{"type", "NFKC"}}), {"tokenizer.json", "'NFKC'"});
    refused_file(changed("/added_tokens", 3), {"tokenizer.json", "added_tokens"});
    refused_file("{\"a\x1B\": \"\x1B[2J\"}", {"tokenizer.json"});
}
