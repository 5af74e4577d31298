// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "data/storage/dataset_info.hpp"
#include "tests/data/prepare/prepare_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::tests;

TEST_CASE("lines and arrays of {\"text\": ...} are documents, and told") {
    const tests::ScratchFolder dir;
    const std::string lines = R"({"text": "To be,\nor not", "id": 1})"
                              "\n\n"
                              R"({"text": ""})"
                              "\n"
                              R"({"text": "that is"})";
    write_text(dir / "t.jsonl", lines);
    write_text(dir / "t.json", R"([{"text": "To be,\nor not"}, )"
                               "\n"
                               R"({"text": "that is"}])");
    for (const char* name : {"/t.jsonl", "/t.json"})
        for (const TextFormat format :
             {TextFormat::text, TextFormat::messages, TextFormat::jsonl}) {
            PrepareOptions options;
            options.inputs = {dir.path() + name};
            options.read.format = format;
            options.out = dir / "d";
            options.existing = Existing::overwrite;
            std::string said;
            CHECK(run_prepare(options, &said).splits.at(0).rows == 2);
            CHECK(said.find("each {\"text\": ...} of the files is a document") !=
                  std::string::npos);
            CHECK((said.find("empty texts are left out (once)") != std::string::npos) ==
                  std::string(name).ends_with('l'));
            const DatasetInfo info = read_dataset_info(dir / "d");
            CHECK(info.kind == DatasetKind::language_model);
            CHECK(info.splits.at(0).target_tokens == 10);  // two ends, and a line feed
        }
}

TEST_CASE("files of texts with lines or files of other forms are refused") {
    const tests::ScratchFolder dir;
    const std::string text = "{\"text\": \"a\"}\n";
    PrepareOptions options;
    options.inputs = {dir / "t"};
    options.read.format = TextFormat::text;
    options.out = dir / "d";
    write_text(dir / "t", text + R"({"messages": []})");
    CHECK(prepare_error(options).find("/t:2: a line of another form in a file of texts") !=
          std::string::npos);
    write_text(dir / "t", text + R"({"text": 1})");
    CHECK(prepare_error(options).find("/t:2: a line of another form") != std::string::npos);
    write_text(dir / "t", text + "x");
    CHECK(prepare_error(options).find("/t:2: not JSON") != std::string::npos);
    write_text(dir / "t", text);
    write_text(dir / "v", "plain\n");
    options.valid = {dir / "v"};
    CHECK(prepare_error(options).find("/v: does not begin with a document {\"text\"") !=
          std::string::npos);
    // Neither is a plain text that begins with a bracket.
    write_text(dir / "t", "[Enter HAMLET]\nTo be\n");
    options.valid = {};
    CHECK(prepare_error(options) == "no error");
}
