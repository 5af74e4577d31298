// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/config_file.hpp"

#include <doctest/doctest.h>

#include <random>

#include "launcher/command_line/command_line.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

std::string value_of(const std::string& line) {
    const auto lines = read_config_lines(line, "c.ini");
    return lines.size() == 1 ? lines.front().value : "not one line";
}

std::string refusal(const std::string& text) {
    try {
        read_config_lines(text, "c.ini");
    } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::config);
        return e.what();
    }
    return "accepted";
}

// The characters that a format could trip over come often, every other byte now and then.
std::string random_value(std::mt19937& random) {
    const std::string often = "#\"'\\ \t\n\r=-ab\v\f[";
    std::string value;
    const auto length = random() % 12 + 1;
    for (std::size_t i = 0; i < length; ++i) {
        value += random() % 8 == 0 ? static_cast<char>(random() % 255 + 1)
                                   : often[random() % often.size()];
    }
    return value;
}

// A table of one text and one list reads these words.
struct Texts {
    std::string one;
    std::vector<std::string> many;
    std::vector<OptionTable> tables;

    Texts() : tables{OptionTable("Texts")} {
        tables.front().text("one", one, "TEXT", "one");
        tables.front().texts("many", many, "TEXT", "several");
    }
};

}  // namespace

TEST_CASE("values with and without quotes, and comments") {
    CHECK(value_of("model-file = exp#2") == "exp#2");
    CHECK(value_of("model-file = exp #2") == "exp");
    CHECK(value_of("model-file =   a b   ") == "a b");
    CHECK(value_of("model-file = a = b") == "a = b");
    CHECK(value_of("model-file = it's") == "it's");
    CHECK(value_of("delimiter = \\n") == "\\n");
    CHECK(value_of("delimiter = \"  \"  # two blanks") == "  ");
    CHECK(value_of("delimiter = \" # \"") == " # ");
    CHECK(value_of("delimiter = ' \"\\n '") == " \"\\n ");
    CHECK(value_of(R"(delimiter = "\"\\\n\r\t")") == "\"\\\n\r\t");
    CHECK(value_of("batchsize = 8\r") == "8");
    CHECK(value_of("batchsize = # none").empty());
    CHECK(read_config_lines("# a comment\n\n   # another\n", "c.ini").empty());
    const auto lines = read_config_lines("\n\nlabel_truncate=9\n", "c.ini");
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().number == 3);
    CHECK(lines.front().name == "label-truncate");
}

TEST_CASE("a byte order mark at the beginning is no part of a name") {
    const auto lines = read_config_lines("\xEF\xBB\xBFseed = 1\nseed = 2\n", "c.ini");
    REQUIRE(lines.size() == 2);
    CHECK(lines.front().name == "seed");
    CHECK(lines.front().value == "1");
}

TEST_CASE("a line that cannot be read is named with its file and number") {
    CHECK(refusal("batchsize = 8\nbatch size 8\n") ==
          "c.ini:2: 'batch size 8' is not a line `name = value`, as `batchsize = 16`");
    CHECK(refusal(" = 8") == "c.ini:1: '= 8' is not a line `name = value`, as `batchsize = 16`");
    CHECK(refusal("[train]").starts_with("c.ini:1: '[train]' is not a line"));
    CHECK(refusal("data = \"a") == "c.ini:1: the closing \" is missing");
    CHECK(refusal("data = \"a\\") ==
          "c.ini:1: in double quotes a backslash stands before \", \\, "
          "n, r or t; single quotes take it as it is");
    CHECK(refusal("data = \"C:\\data\"").starts_with("c.ini:1: in double quotes a backslash"));
    CHECK(refusal("data = 'a") == "c.ini:1: the closing ' is missing");
    CHECK(refusal("data = \"a\" b") ==
          "c.ini:1: 'b' behind the closing quote; a comment begins with #");
}

TEST_CASE("files of YAML and JSON are recognised, and their line is written as one of these") {
    const std::string yaml = " is not a line `name = value`, and looks like YAML: write ";
    const std::string json = " is not a line `name = value`, and looks like JSON: write ";
    CHECK(refusal("learningrate: 1e-3") ==
          "c.ini:1: 'learningrate: 1e-3'" + yaml + "`learningrate = 1e-3`");
    CHECK(refusal("delimiter: \"a=b\"  # c").ends_with(yaml + "`delimiter = a=b`"));
    CHECK(refusal("---\na: 1").ends_with(yaml + "`batchsize = 16`"));
    CHECK(refusal("data:\n  - a").ends_with(yaml + "`batchsize = 16`"));
    CHECK(refusal("- a").ends_with(yaml + "`batchsize = 16`"));
    CHECK(refusal("{").ends_with(json + "`batchsize = 16`"));
    CHECK(refusal("{\"batchsize\": 8, \"x\": 1}").ends_with(json + "`batchsize = 8`"));
    CHECK(refusal("  \"model-file\": \"m\",").ends_with(json + "`model-file = m`"));
    CHECK(value_of("data = C:/x") == "C:/x");
    CHECK(value_of("model_file = {a}") == "{a}");
}

TEST_CASE("a repeated list goes on, and any other repeated option replaces the earlier one") {
    Texts texts;
    parse_command_line({"--many", "a", "b", "--one=x", "--many=-c", "--one", "y", "--many", "d"},
                       texts.tables);
    CHECK(texts.many == std::vector<std::string>{"a", "b", "-c", "d"});
    CHECK(texts.one == "y");
}

TEST_CASE("plain values are written without quotes") {
    CHECK(config_line("data", "a/b c.txt") == "data = a/b c.txt\n");
    CHECK(config_line("data", "a#b") == "data = \"a#b\"\n");
    CHECK(config_line("delimiter", " \n") == "delimiter = \" \\n\"\n");
    CHECK(config_line("data", "it's \\") == "data = \"it's \\\\\"\n");
}

TEST_CASE("whatever --dump-config writes is read back as the same values") {
    const tests::ScratchFolder scratch;
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        const std::string one = random_value(random);
        const std::vector<std::string> many{random_value(random), random_value(random)};
        Texts dumping, reading;
        const std::string lines =
            dump_config({"--one=" + one, "--many=" + many[0], "--many=" + many[1]}, dumping.tables);
        tests::write_text(scratch / "c.ini", lines);
        parse_command_line({"--config", scratch / "c.ini"}, reading.tables);
        CAPTURE(lines);
        REQUIRE(reading.one == one);
        REQUIRE(reading.many == many);
        REQUIRE(dumped_options(lines).size() == 3);
    }
}

TEST_CASE("what is wrong in a file of options is named with the file and the line") {
    const tests::ScratchFolder scratch;
    const std::string path = scratch / "c.ini";
    const auto run = [&](const std::string& text) {
        tests::write_text(path, text);
        const auto result = tests::run_line("train --config " + path);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        return result.err;
    };
    CHECK(run("# mine\nbatchsize = many\n") ==
          "train: " + path + ":2: --batchsize: 'many' is not a whole number\n");
    CHECK(run("\ndrop_otu = 0.1\n") == "train: " + path +
                                           ":2: drop-otu: no such option; did you mean "
                                           "--dropout? (--help lists all)\n");
    CHECK(run("--data = D\n") ==
          "train: " + path + ":1: --data: no such option; leave out its dashes\n");
    CHECK(run(std::string((4 << 20) + 1, '#')).ends_with("; is it the right file?\n"));
    CHECK(
        run("task = convai2\n") ==
        "train: " + path +
            ":1: task: no such option; `parlai convert_to_parlai` writes a task as text, `lockstep "
            "prepare --input TEXT --out DIR` reads it, and then give --data DIR\n");
    CHECK(run("max-restarts = 2\n").find(":1: max-restarts: not an option here; ") !=
          std::string::npos);
    CHECK(run("data =\n") == "train: " + path + ":1: data: needs a value\n");
    CHECK(run("config = other.ini\n") ==
          "train: " + path + ":1: config: a file names no other file\n");
    CHECK(run("batchsize 8\n") ==
          "train: " + path +
              ":1: 'batchsize 8' is not a line `name = value`, as `batchsize = 16`\n");
}

TEST_CASE("a folder whose name has a comment sign is the one that a dumped run trains in") {
    const auto run = tests::run_line("train --data d -mf exp#2 --num-epochs 1 --dump-config");
    CHECK(run.code == 0);
    CHECK(run.out == "data = d\nmodel-file = \"exp#2\"\nnum-epochs = 1\n");
}

TEST_CASE("a file of Windows, DOS or an old Mac is read or refused, and nothing of it is lost") {
    CHECK(value_of("\xEF\xBB\xBFseed = 1\r\n") == "1");
    CHECK(value_of("seed = 1\r\n\x1A") == "1");
    CHECK(value_of("\xEF\xBB\xBFseed = 1\x1A\x1A") == "1");
    CHECK(read_config_lines("\xEF\xBB\xBF", "c.ini").empty());
    CHECK(read_config_lines("\x1A", "c.ini").empty());
    CHECK(refusal("# old\rseed = 1\r").starts_with("c.ini:1: a carriage return inside"));
    CHECK(refusal("seed = 1\nlr = 2\rbs = 3\n").starts_with("c.ini:2: a carriage return inside"));
    CHECK(refusal(std::string("seed = 1\0\n", 10)).starts_with("c.ini:1: a NUL byte"));
    CHECK_THROWS_WITH_AS(read_config_lines(std::string("\xFF\xFEs\0", 4), "c.ini"),
                         doctest::Contains("c.ini: is UTF-16"), Error);
}
