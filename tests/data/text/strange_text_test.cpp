// SPDX-License-Identifier: Apache-2.0
// Texts of other systems and programs: marks, line ends, fields and members that no row has.
#include <doctest/doctest.h>

#include "data/text/plain_text.hpp"
#include "data/text/text_chunks.hpp"
#include "tests/data/recorded_turns.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

const std::string mark = "\xEF\xBB\xBF";

Read told_by(const std::string& text, TextFormat format) {
    ReadOptions options;
    options.format = format;
    return read_text(text, options);
}

Read told_by_parlai(const std::string& text) { return told_by(text, TextFormat::parlai); }
Read told_by_fbdialog(const std::string& text) { return told_by(text, TextFormat::fbdialog); }
Read told_by_jsonl(const std::string& text) { return told_by(text, TextFormat::jsonl); }
Read told_by_messages(const std::string& text) { return told_by(text, TextFormat::messages); }

// The last chunk of a file, as plain text.
Read told_by_plain(const std::string& text) {
    TextChunk chunk;
    chunk.path = "f";
    chunk.text = text;
    chunk.ends = TextChunk::Ends::file;
    std::string out;
    Warnings warnings;
    try {
        read_plain_text(
            chunk, Documents::file, warnings, [&](std::string_view part) { out += part; }, [] {});
    } catch (const Error& e) {
        return {e.what(), ""};
    }
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    warnings.write(log);
    return {out, lines.str()};
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string first_chunk_error(const std::string& bytes, TextFormat format) {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "f", bytes);
    ChunkReader reader({dir / "f"}, format);
    TextChunk chunk;
    try {
        reader.next(chunk);
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("ParlAI text: each unknown field is told once, with its first line and its number") {
    const Read found = told_by_parlai(
        "text:a\tlabels:b\tepisode_end:True\n"
        "text:see below\tnote: this half\tlabels:c\n"
        "text:d\tlabels:e\tepisode_end:True\tid:x\treward:1\tlabel_candidates:a|b\timage:i\n");
    CHECK(found.turns == "[ 1:a->b 2:see below->c 3:d->e");
    CHECK(has(found.warnings, "f:1: the field 'episode_end' is unknown and is left out"));
    CHECK(has(found.warnings, "is written \\t (2 times)\n"));
    CHECK(has(found.warnings, "f:2: the field 'note' is unknown"));
    CHECK(has(found.warnings, "is written \\t (once)\n"));
    for (const char* known : {"'id'", "'reward'", "'label_candidates'", "'image'"})
        CHECK_FALSE(has(found.warnings, known));
    CHECK(told_by_parlai("text:a\tlabels:b\tid:c\tepisode_done:True\n").warnings.empty());
    CHECK(has(told_by_parlai("text:a\tlabel:b\n").turns,
              "f:1: no 'labels' field, but an unknown one "
              "'label'; a line is"));
    CHECK(has(told_by_parlai("text:a\tlabels:b\tc\n").turns,
              "a tab inside of a text is written \\t"));
    CHECK(told_by_parlai("text:a\tlabels:b\n   \n\t\n").turns == "[ 1:a->b");
}

TEST_CASE("ParlAI text: any word of episode_done but true is told") {
    for (const std::string word : {"False", "false", "0", "no", "None"}) {
        CAPTURE(word);
        const Read done = told_by_parlai("text:a\tlabels:b\tepisode_done:" + word +
                                         "\ntext:c\tlabels:d\tepisode_done:" + word + "\n");
        CHECK(done.turns == "[ 1:a->b][ 2:c->d");
        CHECK(has(done.warnings, "f:1: the field 'episode_done:" + word + "' ends the episode"));
        CHECK(has(done.warnings, "(2 times)"));
    }
    for (const std::string word : {"True", "true", "1", ""})
        CHECK(told_by_parlai("text:a\tlabels:b\tepisode_done:" + word + "\n").warnings.empty());
}

TEST_CASE("a field that comes twice in a line is refused with its line") {
    for (const std::string end : {"\tepisode_done:True", ""}) {
        const std::string joined = told_by_parlai("text:a\tlabels:b\ntext:c\tlabels:d" + end +
                                                  "text:e\tlabels:f\tepisode_done:True\n")
                                       .turns;
        CAPTURE(joined);
        CHECK(joined.starts_with("f:2: two fields "));
        CHECK(has(joined, "were joined?"));
    }
    CHECK(told_by_parlai("text:a\ttext:b\tlabels:c\n").turns.starts_with("f:1: two fields 'text'"));
    CHECK(told_by_parlai("text:a\tlabels:c\tepisode_done:True\tepisode_done:True")
              .turns.starts_with("f:1: two fields 'episode_done'"));
    const std::string line = R"({"messages":[{"role":"user","content":"a"},)"
                             R"({"role":"assistant","content":"b"}]})";
    CHECK(told_by_messages(line + "\n" + line + line).turns.starts_with("f:2: not JSON"));
    CHECK(told_by_messages(R"({"messages":[],"messages":[]})").turns ==
          "f:1: an object has 'messages' twice, of which only one can be meant");
    CHECK(told_by_messages(R"({"messages":[{"role":"user","role":"user","content":""}]})")
              .turns.starts_with("f:1: an object has 'role' twice"));
    CHECK(told_by_jsonl(R"({"dialog":[[{"id":"A","text":"a","text":"b"}]]})")
              .turns.starts_with("f:1: an object has 'text' twice"));
}

TEST_CASE("FbDialog: a text in the place of the reward, and fields too many, are told") {
    CHECK(told_by_fbdialog("1 a\tb\t0.5\tc|d\n2 e\tf\t\tg|h\n").warnings.empty());
    const Read tab = told_by_fbdialog("1 a\tb\n2 half\tof it\tc\n");
    CHECK(has(tab.warnings, "f:2: the reward 'c' is no number"));
    CHECK(has(told_by_fbdialog("1 a\tb\t\tc|d1 x\ty\t\tz\n").warnings, "f:1: more fields than"));
    CHECK(has(told_by_fbdialog("1 hi\tyou1 hello\tyou\n").warnings, "f:1: the reward 'you'"));
}

TEST_CASE("conversations without an answer are counted, and so are their last turns") {
    const auto message = [](const char* role, const char* content) {
        return std::string(R"({"role":")") + role + R"(","content":")" + content + R"("})";
    };
    const auto line = [](const std::string& all) { return R"({"messages":[)" + all + "]}\n"; };
    const Read found =
        told_by_messages(line(message("system", "S") + "," + message("user", "no answer")) +
                         line(message("user", "q") + "," + message("assistant", "")) +
                         line(message("user", "q1") + "," + message("assistant", "a1") + "," +
                              message("user", "left over")) +
                         line(""));
    CHECK(found.turns == "[ 1:S-> 1:no answer->][ 2:q->][ 3:q1->a1 3:left over->][");
    CHECK(has(found.warnings, "f:1: 3 of 4 conversations have no answer and give no row\n"));
    CHECK(has(found.warnings, "f:2: an empty label is left out (once)\n"));
    CHECK(has(found.warnings,
              "f:3: 1 of 4 conversations end with a turn that has no answer and is left out\n"));

    const Read dialogs = told_by_jsonl(R"({"dialog":[[{"id":"A","text":"a"}]]})"
                                       "\n"
                                       R"({"dialog":[]})"
                                       "\n"
                                       R"({"dialog":[[{"text":"a"},{"text":"b"}],[{"text":"c"}]]})"
                                       "\n"
                                       R"({"dialog":[[{"text":"a"},{"text":" "}]]})");
    CHECK(has(dialogs.warnings, "f:1: 3 of 4 conversations have no answer"));
    CHECK(has(dialogs.warnings, "f:3: 1 of 4 conversations end with a turn"));
    CHECK(has(dialogs.warnings, "f:4: an empty label"));

    const Read lines = told_by_fbdialog("1 a\tb\n1 left\n1 c\td\n2 over\n");
    CHECK(has(lines.warnings, "f:2: 1 of 3 conversations have no answer"));
    CHECK(has(lines.warnings, "f:4: 1 of 3 conversations end with a turn"));

    const Read empty = told_by_parlai("text:a\tlabels:\tepisode_done:True\ntext:b\tlabels:c| |d\n");
    CHECK(empty.turns == "[ 1:a->][ 2:b->c|d");
    CHECK(has(empty.warnings, "f:1: 1 of 2 conversations have no answer"));
    CHECK(has(empty.warnings, "f:1: an empty label is left out (2 times)"));
}

TEST_CASE("members that no row has are told by name, bookkeeping and empty ones are not") {
    const std::string turns = R"([{"role":"user","content":"a","name":"x"},)"
                              R"({"role":"assistant","content":"b","tool_calls":[]}])";
    CHECK(told_by_messages(
              R"({"id":1,"source":"s","model":"m","metadata":{"a":1},"tools":[],"messages":)" +
              turns + "}")
              .warnings.empty());
    const Read found = told_by_messages(R"({"tools":[1],"messages":[{"role":"user","content":"a",)"
                                        R"("audio":{"x":1}},{"role":"assistant","content":"b"}]})");
    CHECK(has(found.warnings, "f:1: the member 'tools' of a line is unknown and is left out"));
    CHECK(has(found.warnings, "f:1: the member 'audio' of a message is unknown"));
    const Read dialog = told_by_jsonl(
        R"({"dialog":[[{"id":"A","text":"a","mood":"m"},{"text":"b"}]],"topic":"t"})");
    CHECK(has(dialog.warnings, "the member 'mood' of a turn"));
    CHECK(has(dialog.warnings, "the member 'topic' of a line"));
}

TEST_CASE("lines of another format are refused with the format that they look like") {
    const std::string chat = R"({"messages": [{"role": "user", "content": "a"}]})";
    CHECK(has(told_by_parlai(chat).turns, "say --format messages"));
    CHECK(has(told_by_parlai(R"({"dialog": [[]]})").turns, "say --format jsonl"));
    CHECK(has(told_by_parlai(R"({"text": "a"})").turns, "it looks like JSON, of which"));
    CHECK(has(told_by_parlai("1 hi\thello\n").turns, "say --format fbdialog"));
    CHECK(has(told_by_parlai("{\n").turns, "JSON over several lines"));
    CHECK(has(told_by_parlai(R"({"text": "a"})").turns,
              "for documents of {\"text\": ...} say --format text"));
    const std::string share = R"({"conversations": [{"from": "human", "value": "a"}]})";
    const std::string alpaca = R"({"instruction": "a", "input": "", "output": "b"})";
    const std::string pair = R"({"prompt": "a", "completion": "b"})";
    for (const auto& told : {told_by_parlai, told_by_jsonl}) {
        CHECK(has(told(share).turns, "ShareGPT's conversations, so say --format messages"));
        CHECK(has(told(alpaca).turns, "Alpaca's instructions, so say --format messages"));
        CHECK(has(told(pair).turns, "prompts with completions, so say --format messages"));
    }
    for (const auto& told : {told_by_parlai, told_by_messages, told_by_jsonl}) {
        CHECK(has(told("[" + share + "]").turns, "by jq -c '.[] | {messages: [.conversations[]"));
        CHECK(has(told("[" + alpaca + "]").turns, "by jq -c '.[] | {messages: [{role"));
        CHECK(has(told("[" + chat + "]").turns, "a JSON array; write one object a line by jq -c"));
        CHECK(has(told("[\n" + chat + "\n]").turns, "a JSON array over several lines; write one"));
    }
    CHECK(has(told_by_plain("[" + alpaca + "]\n").warnings, "a file of JSON is read as plain"));
    CHECK(has(told_by_fbdialog(chat).turns, "say --format messages"));
    CHECK(has(told_by_fbdialog("text:a\tlabels:b\n").turns, "say --format parlai"));
    CHECK(has(told_by_jsonl("text:a\tlabels:b\n").turns, "say --format parlai"));
    CHECK(has(told_by_messages("1 a\tb\n").turns, "say --format fbdialog"));
    CHECK(has(told_by_plain("{\"text\": \"a\"}\n{\"text\": \"b\"}\n").warnings,
              "f:1: a file of JSON is read as plain text"));
    CHECK(has(told_by_plain("text:a\tlabels:b\n").warnings,
              "f:1: a file of ParlAI text is read as plain"));
    CHECK(told_by_plain("{ braces }\n").warnings.empty());
}

TEST_CASE("byte order marks and Ctrl-Z of joined files are left out, and told") {
    const Read two = told_by_parlai("text:a\tlabels:b\n" + mark + "text:c\tlabels:d\n");
    CHECK(two.turns == "[ 1:a->b 2:c->d");
    CHECK(has(two.warnings, "f:2: a byte order mark at the beginning of a line is left out"));
    CHECK(told_by_fbdialog("1 a\tb\n" + mark + "1 c\td\n").turns == "[ 1:a->b][ 2:c->d");
    const std::string chat = R"({"messages":[{"role":"assistant","content":"b"}]})";
    CHECK(told_by_messages(chat + "\n" + mark + chat).turns ==
          "[ 1:__SILENCE__->b][ 2:__SILENCE__->b");
    const Read words = told_by_plain("one\n" + mark + mark + "two\n");
    CHECK(words.turns == "one\ntwo\n");
    CHECK(has(words.warnings, "f:2: a byte order mark"));
    CHECK(has(words.warnings, "(2 times)"));
    CHECK(told_by_plain("a" + mark + "b\n").turns == "a" + mark + "b\n");
    const Read dos = told_by_plain("one\r\n\x1Atwo\r\n\x1A");
    CHECK(dos.turns == "one\ntwo\n");
    CHECK(has(dos.warnings, "f:2: a Ctrl-Z (1A) at the beginning of a line is left out"));
    CHECK(told_by_plain("one\n\x1A").turns == "one\n");
    CHECK(told_by_plain("one\n\x1A").warnings.empty());
}

TEST_CASE("a carriage return alone ends no line: it is told, and a text of such lines refused") {
    for (const Read& old :
         {told_by_plain("one\rtwo\r"), told_by_plain("text:a\tlabels:b\rtext:c\tlabels:d\r")})
        CHECK(old.turns ==
              "f:1: the lines end with a carriage return alone, as on old Macs; convert the file "
              "with tr '\\r' '\\n'");
    const Read stray = told_by_plain("one\ntwo\rthree\r\n");
    CHECK(stray.turns == "one\ntwo\rthree\n");
    CHECK(has(stray.warnings, "f:2: a carriage return without a line feed"));
    CHECK(told_by_plain("one\r\ntwo\r\n").warnings.empty());
    CHECK(told_by_plain("one\r").warnings.empty());
    CHECK(told_by_parlai("text:a\xE2\x80\xA8\x62\xC2\x85\x0C\tlabels:c\n").turns ==
          "[ 1:a\xE2\x80\xA8\x62\xC2\x85\x0C->c");
}

TEST_CASE("a file in UTF-16 or another packing is named before it is read as text") {
    const std::string utf16("\xFF\xFEt\0e\0", 6);
    for (const TextFormat format : {TextFormat::parlai, TextFormat::fbdialog, TextFormat::jsonl,
                                    TextFormat::messages, TextFormat::text})
        CHECK(has(first_chunk_error(utf16, format), "iconv -f UTF-16 -t UTF-8"));
    CHECK(has(first_chunk_error("PK\x03\x04", TextFormat::text), "compressed by zip"));
    CHECK(first_chunk_error(mark, TextFormat::text).empty());
}

TEST_CASE("of many names the first are told, the others counted, however the text was cut") {
    Warnings whole;
    const std::string path = "f";
    for (std::uint64_t cut = 0; cut < 3; ++cut) {
        Warnings part;
        for (std::uint64_t i = 0; i < 30; ++i)
            part.add("the field @ is odd", {&path, cut * 30 + i + 1}, "n" + std::to_string(i));
        whole.append(part);
    }
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    whole.write(log);
    const std::string said = lines.str();
    CHECK(std::count(said.begin(), said.end(), '\n') == 21);
    CHECK(has(said, "f:1: the field 'n0' is odd (3 times)\n"));
    CHECK(has(said, "f:20: the field 'n19' is odd (3 times)\n"));
    CHECK(has(said, "f:21: the field (other names) is odd (30 times)\n"));
}
