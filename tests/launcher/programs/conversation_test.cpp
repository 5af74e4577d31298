// SPDX-License-Identifier: Apache-2.0
// `interactive` and `self_chat`: what is said, and what is kept of it.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/launcher/programs/small_talk.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/terminal.hpp"

using namespace lockstep::tests;
using Json = nlohmann::json;

namespace {

std::string interactive(const SmallTalk& talk, const std::string& more, const std::string& input) {
    return SmallTalk::done("interactive --threads 1 -mf " + talk.model + " " + more, input);
}

// The texts of a line's dialog, and how often each exchange has both speakers.
std::vector<std::vector<std::string>> dialog_of(const std::string& line) {
    std::vector<std::vector<std::string>> exchanges;
    const Json json = Json::parse(line);
    for (const Json& exchange : json.at("dialog")) {
        auto& texts = exchanges.emplace_back();
        for (const Json& turn : exchange) texts.push_back(turn.at("text"));
    }
    return exchanges;
}

using Dialog = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("a talk by a pipe: the history is the context until it is forgotten") {
    const SmallTalk talk;
    CHECK(interactive(
              talk, "",
              "hello\nwho are you\n[DONE]\nwho are you\n/reset\nwhere\\nis rome\n[EXIT]\nx\n") ==
          "you: hello\nmodel: good morning\nyou: who are you\nmodel: a model\n"
          "you: [DONE]\n(a new conversation)\nyou: who are you\nmodel: nobody\n"
          "you: /reset\n(a new conversation)\nyou: where\\nis rome\nmodel: in \n italy\nyou: "
          "[EXIT]\n");
    CHECK(interactive(talk, "--single-turn", "hello\nwho are you\n") ==
          "you: hello\nmodel: good morning\nyou: who are you\nmodel: nobody\n");
    CHECK(interactive(talk, "--history-size 1", "hello\nwho are you\n") ==
          "you: hello\nmodel: good morning\nyou: who are you\nmodel: nobody\n");
    const std::string wrong = interactive(talk, "", "hello\n\xFF\nwho are you\n");
    CHECK(wrong.find("your line: byte 1 is not UTF-8") != std::string::npos);
    CHECK(wrong.ends_with("model: a model\n"));
}

TEST_CASE("conversations are added to a log that `prepare` reads") {
    const SmallTalk talk;
    const std::string log = talk.scratch / "log.jsonl";
    interactive(talk, "--outfile " + log, "hello\nwho are you\n[DONE]\n[DONE]\nwho are you\n");
    interactive(talk, "--outfile " + log + " --single-turn", "hello\nwho are you\n");
    std::istringstream in(read_text(log));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    REQUIRE(lines.size() == 4);
    CHECK(dialog_of(lines[0]) == Dialog{{"hello", "good morning"}, {"who are you", "a model"}});
    CHECK(dialog_of(lines[1]) == Dialog{{"who are you", "nobody"}});
    CHECK(dialog_of(lines[2]) == Dialog{{"hello", "good morning"}});
    const Json first = Json::parse(lines[0]);
    CHECK(first["dialog"][0][0]["id"] == "localHuman");
    CHECK(first["dialog"][0][1]["id"] == "TransformerGenerator");
    SmallTalk::done("lockstep prepare --format jsonl --input " + log + " --out " +
                    (talk.scratch / "again"));

    // A line that a crash cut off stays a line of its own.
    write_text(log, "{\"dialog\"");
    interactive(talk, "--outfile " + log, "hello\n");
    CHECK(read_text(log).starts_with("{\"dialog\"\n{\"dialog\":[["));

    const std::string text = talk.scratch / "log.txt";
    interactive(talk, "--save-format parlai --outfile " + text,
                "hello\nwho are you\n[DONE]\nwhere\\nis rome\n");
    CHECK(read_text(text) ==
          "id:localHuman\ttext:hello\tlabels:good morning\n"
          "id:localHuman\ttext:who are you\tlabels:a model\tepisode_done:True\n\n"
          "id:localHuman\ttext:where\\nis rome\tlabels:in \\n italy\tepisode_done:True\n\n");
    SmallTalk::done("lockstep prepare --input " + text + " --out " + (talk.scratch / "parlai"));
}

TEST_CASE("a log that cannot be kept is told before the talk") {
    const SmallTalk talk;
    for (const char* program : {"interactive", "self_chat"}) {
        const std::string line = std::string(program) + " -mf " + talk.model + " --outfile ";
        says(run_line(line + "/dev/full"), 2, {"--outfile", "/dev/full", "not a file"});
        says(run_line(line + (talk.scratch / "none/log")), 2, {"--outfile", "there is no folder"});
        for (const char* file : {"/config.json", "/model.safetensors", "/dictionary.txt"}) {
            const std::string before = read_text(talk.model + file);
            says(run_line(line + talk.model + file), 2, {file, "is a file of the model's folder"});
            CHECK(read_text(talk.model + file) == before);
        }
        says(run_line(line + (talk.scratch / "")), 2, {"--outfile", "is a folder"});
    }
    says(run_line("self_chat -mf " + talk.model + " --display-examples false"), 2, {"--outfile"});
}

TEST_CASE("a log whose disk is full ends the talk, and not as a wrong request") {
    const SmallTalk talk;
    const std::string log = talk.scratch / "log.jsonl";
    write_text(log, R"({"dialog": [)" + std::string(1023, ' ') + "]}\n");
    for (const std::string program : {"interactive", "self_chat"})
        says(run_program({"bash", "-c", R"(ulimit -f 1; exec "$0" "$@")", program_path(program),
                          "--threads", "1", "-mf", talk.model, "--outfile", log},
                         {"hello\n", {}, ""}),
             1, {log + ": --outfile cannot be written: File too large"});
}

TEST_CASE("at a terminal lines are edited and come back" * doctest::test_suite(needs_terminal)) {
    const SmallTalk talk;
    const std::string log = talk.scratch / "log.jsonl";
    TerminalProgram program({"interactive", "--threads", "1", "-mf", talk.model, "--outfile", log});
    const std::string left = "\x1B[D", up = "\x1B[A", home = "\x1B[H";
    program.read_prompt("you: ");
    program.type("helo" + left + "l\r");
    program.read_until("model: good morning");
    program.read_prompt("you: ");
    // The log has every exchange while the program waits for more.
    CHECK(dialog_of(read_text(log)) == Dialog{{"hello", "good morning"}});
    says(run_line("interactive -mf " + talk.model + " --outfile " + log), 2,
         {"another program writes"});
    program.type("are you" + home + "who \r");
    program.read_until("model: a model");
    program.read_prompt("you: ");
    program.type("/reset\r");
    program.read_until("(a new conversation)");
    program.read_prompt("you: ");
    program.type(up + up + "\r");
    program.read_until("model: nobody");
    program.read_prompt("you: ");
    program.type("\x04");
    CHECK(program.wait() == 0);
}

TEST_CASE("what a terminal would obey is shown as bytes and kept as it is" *
          doctest::test_suite(needs_terminal)) {
    const SmallTalk talk;
    const std::string text = "\x1b[31mred\x07", shown = "\\x1b[31mred\\x07";
    const std::string file = talk.scratch / "text.txt", log = talk.scratch / "chat.jsonl";
    write_text(file, text + "\n");
    CHECK(interactive(talk, "", text + "\n").starts_with("you: " + shown + "\nmodel: "));
    const std::string chat = "self_chat --threads 1 -mf " + talk.model +
                             " --selfchat-max-turns 2 --seed-messages-from-file " + file;
    const std::string said = SmallTalk::done(chat + " --outfile " + log);
    CHECK(said.find("_1: " + shown + "\n") != std::string::npos);
    CHECK(dialog_of(read_text(log)).at(0).at(0) == text);
    TerminalProgram program(
        {"lockstep", "generate", "--threads", "1", "-mf", talk.model, "--input", file});
    program.read_until("> " + shown);
    CHECK(program.wait() == 0);
}

TEST_CASE("Ctrl-C ends a talk, and the log has it" * doctest::test_suite(needs_terminal)) {
    const SmallTalk talk;
    const std::string log = talk.scratch / "log.jsonl";
    TerminalProgram program({"interactive", "--threads", "1", "-mf", talk.model, "--outfile", log});
    program.read_prompt("you: ");
    program.type("hello\r");
    program.read_until("model: good morning");
    program.read_prompt("you: ");
    program.type("\x03");
    CHECK(program.wait() == 128 + 2);
    CHECK(dialog_of(read_text(log)) == Dialog{{"hello", "good morning"}});
}

TEST_CASE("a model talks to itself") {
    const SmallTalk talk;
    const std::string chat = "self_chat --threads 1 -mf " + talk.model + " ";
    const std::string seeds = talk.scratch / "seeds.txt", log = talk.scratch / "chat.jsonl";
    write_text(seeds, "\n  hello \n");
    const std::string shown = SmallTalk::done(
        chat + "--seed-messages-from-file " + seeds +
        " --num-self-chats 2 --selfchat-max-turns 2 --history-size 1 --outfile " + log);
    CHECK(shown ==
          "== conversation 1\ncontext: Hi!\n"
          "TransformerGenerator_1: hello\nTransformerGenerator_2: good morning\n"
          "== conversation 2\ncontext: Hi!\n"
          "TransformerGenerator_1: hello\nTransformerGenerator_2: good morning\n");
    std::istringstream in(read_text(log));
    int conversations = 0;
    for (std::string line; std::getline(in, line); ++conversations) {
        CHECK(dialog_of(line) == Dialog{{"hello", "good morning"}});
        const Json context = Json::parse(line).at("context");
        CHECK(context.size() == 2);
        CHECK(context[0]["text"] == "Hi!");
        CHECK(context[0]["id"] == "context");
    }
    CHECK(conversations == 2);

    // Both speakers' turns, of which ParlAI counts the greeting as the first.
    const std::string unseeded = talk.scratch / "unseeded.jsonl";
    SmallTalk::done(chat + "-d false --outfile " + unseeded);
    CHECK(dialog_of(read_text(unseeded)).size() == 5);

    const std::string parlai = talk.scratch / "chat.txt";
    SmallTalk::done(chat +
                    "--save-format parlai --selfchat-max-turns 2 --seed-messages-from-file " +
                    seeds + " --outfile " + parlai);
    CHECK(read_text(parlai).starts_with("id:TransformerGenerator_1\ttext:Hi!\\nhello\tlabels:"));

    write_text(seeds, "one\ntwo\nthree\nfour\nfive\nsix\n");
    const auto first_words = [&](const std::string& more) {
        return SmallTalk::done(chat +
                               "--num-self-chats 4 --selfchat-max-turns 2 "
                               "--seed-messages-from-file " +
                               seeds + more);
    };
    CHECK(first_words("") == first_words(""));
    CHECK(first_words("") != first_words(" --seed 7"));
    write_text(seeds, "\n");
    says(run_line(chat + "--seed-messages-from-file " + seeds), 2, {"no message"});
    write_text(seeds, "fine\n\xFF\n");
    says(run_line(chat + "--seed-messages-from-file " + seeds), 2, {"seeds.txt:2", "UTF-8"});
    const std::string too_long((1 << 20) + 1, 'x');
    write_text(seeds, "fine\n" + too_long);
    says(run_line(chat + "--seed-messages-from-file " + seeds), 2, {"seeds.txt:2", "1 MiB"});
    says(run_line("interactive --threads 1 -mf " + talk.model, ProgramInput{too_long, {}, ""}), 2,
         {"standard input:1", "1 MiB"});
}

TEST_CASE("stops end what a model says to a person and to itself") {
    const SmallTalk talk;
    CHECK(interactive(talk, "--stop morning", "hello\n") == "you: hello\nmodel: good \n");
    std::istringstream said(SmallTalk::done("self_chat --threads 1 --stop o -mf " + talk.model));
    int texts = 0;
    for (std::string line; std::getline(said, line);) {
        if (!line.starts_with("TransformerGenerator_")) continue;
        ++texts;
        CHECK(line.substr(line.find(": ")).find('o') == std::string::npos);
    }
    CHECK(texts > 4);
}
