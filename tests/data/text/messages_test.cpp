// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/data/recorded_turns.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

Read read(const std::string& text, TextFormat format = TextFormat::messages) {
    ReadOptions options;
    options.format = format;
    return read_text(text, options);
}

// A line of the given messages, each "role:content".
std::string line(std::initializer_list<const char*> messages) {
    std::string out;
    for (const std::string message : messages) {
        const std::size_t colon = message.find(':');
        out += (out.empty() ? "" : ",") + (R"({"role":")" + message.substr(0, colon)) +
               R"(","content":")" + message.substr(colon + 1) + R"("})";
    }
    return R"({"messages":[)" + out + "]}\n";
}

std::string with_content(const std::string& content) {
    return R"({"messages":[{"role":"user","content":)" + content +
           R"(},{"role":"assistant","content":"b"}]})";
}

}  // namespace

TEST_CASE("chat messages: what the assistant says are labels, the rest is context") {
    CHECK(read(line({"system:be kind", "user: a ", "assistant:b", "user:c", "assistant:d"}) + "\n" +
               line({"user:e", "assistant:f", "user:g"}))
              .turns == "[ 1:be kind-> 1:a->b 1:c->d][ 3:e->f 3:g->");
    CHECK(read(line({"developer:x", "user:a", "assistant:b", "tool:7", "assistant:c"})).turns ==
          "[ 1:x-> 1:a->b 1:7->c");
    CHECK(read(line({"assistant:hello", "user:a", "assistant:b"})).turns ==
          "[ 1:__SILENCE__->hello 1:a->b");
    CHECK(read(line({"system:s", "assistant:hello"})).turns == "[ 1:s->hello");
    CHECK(read(line({"user:a", "user:b", "assistant:c", "assistant:d"})).turns ==
          "[ 1:a-> 1:b->c\nd");
    CHECK(read(R"({"messages":[]})").turns == "[");
}

TEST_CASE("chat messages: weight 0 is context, parts of text are joined, others left out") {
    CHECK(read(R"({"messages":[{"role":"user","content":"a"},)"
               R"({"role":"assistant","content":"b","weight":0},{"role":"user","content":"c"},)"
               R"({"role":"assistant","content":"d","weight":1}]})")
              .turns == "[ 1:a-> 1:b-> 1:c->d");
    const Read parts = read(with_content(
        R"([{"type":"text","text":"x"},{"type":"image_url","image_url":{}},{"type":"text","text":"y"}])"));
    CHECK(parts.turns == "[ 1:x\ny->b");
    CHECK(parts.warnings.find("f:1: parts of messages that are no text") != std::string::npos);
    const Read call = read(R"({"messages":[{"role":"user","content":"a"},)"
                           R"({"role":"assistant","content":null,"tool_calls":[]},)"
                           R"({"role":"tool","content":"7"},{"role":"assistant","content":"b"}]})");
    CHECK(call.turns == "[ 1:a-> 1:7->b");
    CHECK(call.warnings.find("f:1: messages without text") != std::string::npos);
}

TEST_CASE("chat messages: what is wrong is told with file and line") {
    const std::string good = line({"user:a", "assistant:b"});
    for (const std::string bad :
         {"[1]", "{}", "3", "\"messages\"", R"({"messages":{}})", R"({"messages":"x"})",
          R"({"messages":[1]})", R"({"messages":[{"content":"a"}]})",
          R"({"messages":[{"role":1,"content":"a"}]})",
          R"({"messages":[{"role":"assistant","content":"a","weight":"x"}]})"}) {
        CAPTURE(bad);
        CHECK(read(good + bad).turns.starts_with("f:2: "));
        CHECK(read(good + bad).turns.find("; a line is {\"messages\": [") != std::string::npos);
    }
    for (const char* content : {"1", "{}", "[1]", R"([{"type":"text"}])", R"([{"text":"x"}])"}) {
        CAPTURE(content);
        CHECK(read(good + with_content(content)).turns.starts_with("f:2: message 1 has a "));
    }
    CHECK(read(good + R"({"messages":[{"role":"user","content":"a"},{"content":"b"}]})")
              .turns.starts_with("f:2: message 2 has no 'role'; a line is {"));
    CHECK(read(good + R"({"messages":[3]})").turns.starts_with("f:2: message 1 is no object"));
    CHECK(read(good + "{}").turns.starts_with("f:2: no \"messages\""));
    CHECK(read(line({"robot:a"})).turns.starts_with("f:1: a message of the role 'robot'"));
    CHECK(read(good + with_content(R"("x\u0000y")")).turns.starts_with("f:2: a NUL character"));
    CHECK(read(good + "{\"messages\":[").turns.starts_with("f:2: not JSON"));
    CHECK(read(with_content("\"\\ud800\"")).turns.starts_with("f:1: not JSON"));
    CHECK(read(good + with_content("\"\xFF\"")).turns.starts_with("f:2: not valid UTF-8"));
    CHECK(read(R"({"dialog":[]})").turns.find("--format jsonl") != std::string::npos);
    CHECK(read(good, TextFormat::jsonl).turns.find("--format messages") != std::string::npos);
}

TEST_CASE("texts as they were written keep their white space, and nothing stands for silence") {
    ReadOptions options;
    options.format = TextFormat::messages;
    options.texts = Texts::as_written;
    CHECK(read_text(line({"assistant: b\\n", "user:  c", "assistant:d "}), options).turns ==
          "[ 1:-> b\n 1:  c->d ");
    CHECK(read_text(with_content(R"([{"type":"text","text":" x"},{"type":"text","text":"y "}])"),
                    options)
              .turns == "[ 1: x\ny ->b");
    CHECK(read_text(with_content(R"("a")"), options).turns == "[ 1:a->b");
    options.format = TextFormat::jsonl;
    options.label_turns = LabelTurns::firstspeaker;
    CHECK(read_text(R"({"dialog": [[{"id": "x", "text": " a "}, {"id": "y", "text": "b\n"}]]})",
                    options)
              .turns == "[ 1:-> a ");
    options.texts = Texts::parlais;
    CHECK(read_text(R"({"dialog": [[{"id": "x", "text": " a "}, {"id": "y", "text": "b\n"}]]})",
                    options)
              .turns == "[ 1:__SILENCE__->a");
}

TEST_CASE("chat messages: other programs' forms of conversations are read and told") {
    const Read share =
        read(R"({"system": "s", "conversations": [{"from": "human", "value": "a"},)"
             R"({"from": "gpt", "value": "b"}, {"from": "observation", "value": "c"},)"
             R"({"from": "function_call", "value": "d"}]})");
    CHECK(share.turns == "[ 1:s-> 1:a->b 1:c->d");
    CHECK(share.warnings.find("ShareGPT's \"conversations\" are read as messages") !=
          std::string::npos);
    // A turn that has a weight keeps it.
    CHECK(read(R"({"conversations": [{"from": "human", "value": "a"},)"
               R"({"from": "gpt", "value": "b", "weight": 0}, {"from": "human", "value": "c"},)"
               R"({"from": "gpt", "value": "d"}]})")
              .turns == "[ 1:a-> 1:b-> 1:c->d");
    const Read alpaca =
        read(R"({"instruction": "a", "input": "b", "output": "c", "history": [["x", "y"]]})"
             "\n"
             R"({"instruction": "d", "input": "", "output": "e"})");
    CHECK(alpaca.turns == "[ 1:x->y 1:a\nb->c][ 2:d->e");
    CHECK(alpaca.warnings.find("(2 times)") != std::string::npos);
    CHECK(read(R"({"prompt": "a", "completion": "b"})").turns == "[ 1:a->b");
    CHECK(read(R"({"prompt": [{"role": "user", "content": "a"}],)"
               R"("completion": [{"role": "assistant", "content": "b"}]})")
              .turns == "[ 1:a->b");
}

TEST_CASE("chat messages: wrong parts of other forms are told with file and line") {
    const auto told = [](const char* line) { return read(line).turns; };
    CHECK(told(R"({"conversations": 1})") == "f:1: \"conversations\" is no list");
    CHECK(told(R"({"conversations": [{"from": "human"}]})") == "f:1: no text as \"value\"");
    CHECK(told(R"({"conversations": [{"from": "dog", "value": "a"}]})")
              .starts_with("f:1: a turn \"from\" 'dog'; turns are from human, gpt"));
    CHECK(told(R"({"instruction": 1, "output": "a"})") == "f:1: no text as \"instruction\"");
    CHECK(told(R"({"instruction": "a", "output": "b", "history": [["x"]]})")
              .starts_with("f:1: \"history\" has something other than two texts"));
    CHECK(told(R"({"instruction": "a", "output": "b", "history": "z"})") ==
          "f:1: \"history\" is no list of pairs of texts");
    CHECK(told(R"({"instruction": "a", "output": "b", "history": ""})") == "[ 1:a->b");
    CHECK(told(R"({"instruction": "a", "output": "b", "history": null, "input": null})") ==
          "[ 1:a->b");
    for (const std::string value : {"1", "[]", "{}", "true"}) {
        CAPTURE(value);
        const std::string alpaca = R"({"instruction": "a", "output": "b", )", end = value + "}";
        CHECK(told((alpaca + R"("input": )" + end).c_str()) == "f:1: no text as \"input\"");
        CHECK(told((alpaca + R"("system": )" + end).c_str()) == "f:1: no text as \"system\"");
        CHECK(told((R"({"conversations": [], "system": )" + end).c_str()) ==
              "f:1: no text as \"system\"");
    }
    CHECK(told(R"({"prompt": "a", "completion": ["b"]})")
              .starts_with("f:1: \"prompt\" and \"completion\" are neither"));
}

TEST_CASE("chat messages: other forms in the same file are refused, over chunks as well") {
    const std::string messages = line({"user:a", "assistant:b"});
    const std::string alpaca = R"({"instruction":"a","output":"b"})"
                               "\n";
    CHECK(
        read(messages + "\n" + alpaca).turns.starts_with("f:3: a line of the form {\"instruction"));
    CHECK(read(alpaca + messages).turns.starts_with("f:2: a line of the form {\"messages\""));
    const std::string path = "f", other = "g";
    Warnings first, second, third;
    first.note_form("x", {&path, 1});
    second.note_form("y", {&other, 1});
    third.note_form("y", {&path, 8});
    first.append(second);
    CHECK_THROWS_WITH(first.append(third), doctest::Contains("f:8: a line of the form y"));
}
