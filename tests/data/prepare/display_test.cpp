// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/display.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "data/prepare/prepare.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

void make(PrepareOptions options) {
    options.threads = 1;
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    prepare(options, log);
}

std::string displayed(const DisplayOptions& options, std::string* note = nullptr) {
    std::ostringstream out, notes;
    display(options, out, notes);
    if (note) *note = notes.str();
    return out.str();
}

}  // namespace

TEST_CASE("rows are shown in the order of the text, with all their labels where they were kept") {
    const tests::ScratchFolder dir;
    std::string text;
    for (int i = 0; i < 200; ++i)
        text += "text:ask " + std::to_string(i) + "\tlabels:say " + std::to_string(i) +
                "\tepisode_done:True\n";
    tests::write_text(dir / "t", text);
    tests::write_text(dir / "v", "text:How?\tlabels:Fine  you|so\n");
    PrepareOptions options;
    options.inputs = {dir / "t"};
    options.valid = {dir / "v"};
    options.shards = 3;
    options.out = dir / "d";
    make(options);

    DisplayOptions shown{.data = dir / "d", .split = "", .examples = 2};
    CHECK(displayed(shown) ==
          "- - - train 0 - - -\nask 0\n   say 0\n- - - train 1 - - -\nask 1\n   say 1\n"
          "train: 2 of 200 rows\n");
    shown.examples = 1000;
    const std::string all = displayed(shown);
    std::size_t at = 0;
    for (int i = 0; i < 200; ++i) {
        at = all.find("- - - train " + std::to_string(i) + " - - -\nask " + std::to_string(i) +
                          "\n   say " + std::to_string(i) + "\n",
                      at);
        CAPTURE(i);
        REQUIRE(at != std::string::npos);
    }
    CHECK(all.ends_with("train: 200 of 200 rows\n"));
    shown.split = "valid";
    CHECK(displayed(shown) ==
          "- - - valid 0 - - -\n__unk__ __unk__\n   Fine  you|so\nvalid: 1 of 1 rows\n");
    shown.split = "test";
    CHECK_THROWS_WITH_AS(displayed(shown), doctest::Contains("which has: train, valid"), Error);
}

TEST_CASE("what a terminal would obey is shown as bytes") {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "t",
                      "text:a\x1b[31m \x07\tlabels:b \xc2\x9b"
                      "2J c\n");
    PrepareOptions options;
    options.inputs = {dir / "t"};
    options.out = dir / "d";
    make(options);
    const std::string text = displayed({.data = dir / "d", .split = "", .examples = 1});
    CAPTURE(text);
    CHECK(text.find("\\x1b") != std::string::npos);
    CHECK(text.find("\\x07") != std::string::npos);
    CHECK(text.find("\n   b \\xc2\\x9b 2J c\n") != std::string::npos);
    CHECK(text.find_first_of("\x1b\x07\xc2") == std::string::npos);
}

TEST_CASE("plain text is shown as targets alone, of the first split that there is") {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "t", "one two three\n");
    PrepareOptions options;
    options.inputs = options.test = {dir / "t"};
    options.read.format = TextFormat::text;
    options.block_size = 2;
    options.out = dir / "d";
    make(options);
    options.inputs = {};
    options.tokenizer.dict_file = dir / "d";
    options.out = dir / "e";
    make(options);
    CHECK(displayed({.data = dir / "e", .split = "", .examples = 1}) ==
          "- - - test 0 - - -\n   one two\ntest: 1 of 3 rows\n");
}

TEST_CASE("an unknown delimiter between turns is explained beside the rows, a known one is not") {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "t", "text:a\tlabels:b\ntext:c\tlabels:d\tepisode_done:True\n");
    PrepareOptions options;
    options.inputs = {dir / "t"};
    options.out = dir / "d";
    make(options);
    std::string note;
    CHECK(displayed({.data = dir / "d", .split = "", .examples = 1}, &note).find("note") ==
          std::string::npos);
    CHECK(note.empty());
    CHECK(displayed({.data = dir / "d", .split = "", .examples = 2}, &note)
              .find("\na __unk__ b __unk__ c\n") != std::string::npos);
    CHECK(note.starts_with("note: __unk__ between turns is the delimiter"));
    options.read.delimiter = " a ";
    options.out = dir / "known";
    make(options);
    displayed({.data = dir / "known", .split = "", .examples = 2}, &note);
    CHECK(note.empty());
}
