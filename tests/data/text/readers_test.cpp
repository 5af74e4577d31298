// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "data/prepare/encoded_chunk.hpp"
#include "tests/data/recorded_turns.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

ReadOptions format_of(TextFormat format) {
    ReadOptions options;
    options.format = format;
    return options;
}

std::string parlai(const std::string& text) {
    return read_text(text, format_of(TextFormat::parlai)).turns;
}

std::string fbdialog(const std::string& text) {
    return read_text(text, format_of(TextFormat::fbdialog)).turns;
}

std::string jsonl(const std::string& text, LabelTurns turns = LabelTurns::secondspeaker) {
    ReadOptions options = format_of(TextFormat::jsonl);
    options.label_turns = turns;
    return read_text(text, options).turns;
}

}  // namespace

TEST_CASE("ParlAI text: fields, escapes, alternatives, episodes") {
    CHECK(parlai("text:Hi there\tlabels:hello|hey\tepisode_done:True\n"
                 "text:a\\nb\\tc:d\tid:x\tlabels:e__PIPE__f|g\treward:1\n"
                 "\n"
                 "labels:\ttext:") == "[ 1:Hi there->hello|hey][ 2:a\nb\tc:d->e|f|g 4:->");
    CHECK(parlai("text:a\tlabels:b\tepisode_done:\r\ntext:c\tlabels:d\r\n") == "[ 1:a->b 2:c->d");
}

TEST_CASE("ParlAI text: what is wrong is told with file and line") {
    CHECK(parlai("text:a\tlabels:b\ntext:a\n").starts_with("f:2: no 'labels' field"));
    CHECK(parlai("labels:a\n").starts_with("f:1: no 'text' field"));
    CHECK(parlai("text:a\tlabels:b\tword\n").starts_with("f:1: 'word' has no colon"));
    CHECK(parlai("text:a\teval_labels:b\n").starts_with("f:1: 'eval_labels'"));
    CHECK(parlai("text:a\tlabels:b\ntext:\xC3(\tlabels:b").starts_with("f:2: not valid UTF-8"));
    CHECK(parlai(std::string("text:a\tlabels:b\n\0", 17)).starts_with("f:2: a NUL byte"));
    const Read done =
        read_text("text:a\tlabels:b\tepisode_done:False\ntext:c\tlabels:d\tepisode_done:False",
                  format_of(TextFormat::parlai));
    CHECK(done.turns == "[ 1:a->b][ 2:c->d");
    CHECK(done.warnings.find("f:1: the field 'episode_done:False' ends the episode") !=
          std::string::npos);
    CHECK(done.warnings.find("f:2") == std::string::npos);
    std::string endless;
    for (int i = 0; i < 101; ++i) endless += "text:a\tlabels:b\n";
    CHECK(read_text(endless, format_of(TextFormat::parlai))
              .warnings.find("f:101: an episode of more") != std::string::npos);
}

TEST_CASE("FbDialog: numbers begin episodes, lines without a label join the next text") {
    CHECK(fbdialog("1 your persona: I ski.\n2 your persona: I cook.\n3 hi\thello|hey\t1\tc1|c2\n"
                   "4 bye\tgoodbye\n1 next\tone\n1 again\ttwo\n2 left\n") ==
          "[ 3:your persona: I ski.\nyour persona: I cook.\nhi->hello|hey 4:bye->goodbye"
          "][ 5:next->one][ 6:again->two 7:left->");
    CHECK(fbdialog("1 a\\nb\tc\r\n\r\n2 \tx\n") == "[ 1:a\nb->c 3:->x");
    CHECK(
        fbdialog("1 a\tb\nhello\n").starts_with("f:2: 'hello' does not begin with a line number"));
}

TEST_CASE("conversations: either speaker's turns, or both, are labels") {
    const std::string line = R"({"dialog":[[{"id":"A","text":" a1 "},{"id":"B","text":"b1"}],)"
                             R"([{"id":"A","text":"a2"},{"id":"B","text":"b2"}]]})";
    CHECK(jsonl(line) == "[ 1:a1->b1 1:a2->b2");
    CHECK(jsonl(line, LabelTurns::firstspeaker) == "[ 1:__SILENCE__->a1 1:b1->a2");
    CHECK(jsonl(line, LabelTurns::both) == "[ 1:__SILENCE__->a1 1:b1->a2][ 1:a1->b1 1:a2->b2");
    const Read context = read_text(
        R"({"dialog":[[{"id":"context","text":"c"},{"id":"A","text":"a"},{"id":"B","text":"b"}]]})",
        format_of(TextFormat::jsonl));
    CHECK(context.turns == "[ 1:a->b");
    CHECK(context.warnings.find("left out") != std::string::npos);
    CHECK(jsonl(line + "\n{\"dialog\":").starts_with("f:2: not JSON"));
    CHECK(jsonl("{}").starts_with("f:1: no \"dialog\""));
    CHECK(jsonl(R"({"dialog":[[{"id":"A"}]]})").starts_with("f:1: no \"text\""));
    CHECK(jsonl(R"({"dialog":[["a"]]})").starts_with("f:1: "));
    CHECK(jsonl(line + "\n" + R"({"dialog":[[{"id":"A","text":"fine \u0000 day"}]]})")
              .starts_with("f:2: a NUL character"));
    CHECK(jsonl(R"([1])").starts_with("f:1: "));
    CHECK(jsonl(R"({"dialog":[[{"id":"A","text":1}]]})").starts_with("f:1: "));
}

TEST_CASE("chunks never cut an episode, lose nothing and know their lines") {
    const tests::ScratchFolder dir;
    std::string text = "\xEF\xBB\xBF";
    for (int i = 0; i < 120'000; ++i)
        text += "text:" + std::to_string(i) + "\tlabels:some label" +
                (i % 7 == 6 ? "\tepisode_done:True\n" : "\n");
    tests::write_text(dir / "a", text);
    tests::write_text(dir / "b", "text:x\tlabels:y");
    ChunkReader reader({dir / "a", dir / "b"}, TextFormat::parlai);
    CHECK(reader.total_bytes() == text.size() + 15);
    std::string all;
    std::uint64_t line = 1, chunks = 0;
    for (TextChunk chunk; reader.next(chunk); ++chunks) {
        if (chunk.path == dir / "b") {
            CHECK(chunk.file == 1);
            CHECK(chunk.first_line == 1);
            CHECK(chunk.text == "text:x\tlabels:y");
            continue;
        }
        CHECK(chunk.first_line == line);
        CHECK((line - 1) % 7 == 0);
        all += chunk.text;
        for_each_line(chunk, [&](std::string_view, const SourceLine& source_line) {
            CHECK(source_line.line == line++);
        });
    }
    CHECK(chunks > 3);
    CHECK(all == text.substr(3));
}

TEST_CASE("a line or an episode without an end is refused") {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "t", "short\n" + std::string(40 << 20, 'x'));
    ChunkReader reader({dir / "t"}, TextFormat::text);
    TextChunk chunk;
    const auto read_all = [&] {
        while (reader.next(chunk)) {
        }
    };
    CHECK_THROWS_WITH_AS(read_all(), doctest::Contains("t:1: a line of more than 16 MiB"), Error);
}
