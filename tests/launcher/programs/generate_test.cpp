// SPDX-License-Identifier: Apache-2.0
// `lockstep generate` from prompts to replies.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/launcher/programs/small_talk.hpp"

using namespace lockstep::tests;
using Json = nlohmann::json;

TEST_CASE("a reply a line, to prompts of one or several turns") {
    const SmallTalk talk;
    const std::string prompts =
        "hello\nwho are you\r\nhello\\ngood morning\\nwho are you\nwhere\\nis rome\n\n";
    const std::string replies = "good morning\nnobody\na model\nin \\n italy\nsilence\n";
    CHECK(talk.generate("", prompts) == replies);
    CHECK(talk.generate("-bs 4", prompts) == replies);
    const std::string output = talk.scratch / "replies.txt";
    CHECK(talk.generate("--output " + output, prompts).empty());
    CHECK(read_text(output) == replies);
    // Others see all replies or none.
    says(run_line("lockstep generate -bs 1 -mf " + talk.model + " --overwrite --output " + output,
                  ProgramInput{"hello\nh\xFFi\n", {}, ""}),
         2, {"standard input:2"});
    CHECK(read_text(output) == replies);
    for (const auto& entry : std::filesystem::directory_iterator(talk.scratch / ""))
        CHECK(entry.path().string().find("replies.txt.tmp") == std::string::npos);

    const std::string turns = talk.scratch / "turns.jsonl";
    write_text(turns,
               "{\"context\": [\"hello\", \"good morning\", \"who are you\"]}\n\n"
               "{\"text\": \"who are you\"}\n{\"text\": \"where\\nis rome\"}\n{\"context\": []}\n");
    CHECK(talk.generate("--input " + turns) == "a model\nnobody\nin \\n italy\nsilence\n");
    CHECK(talk.generate("--history-size 1 --input " + turns) ==
          "nobody\nnobody\nin \\n italy\nsilence\n");
    CHECK(talk.generate("--delimiter hello --input " + turns) !=
          "a model\nnobody\nin \\n italy\nsilence\n");
    CHECK(talk.generate("--format jsonl", read_text(turns)) ==
          "a model\nnobody\nin \\n italy\nsilence\n");
}

TEST_CASE("prompts from a pipe are waited for, and that is told") {
    const SmallTalk talk;
    const std::string pipe = talk.scratch / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::thread writer([&] { write_text(pipe, "who are you\n"); });
    const auto run = run_line("lockstep generate -mf " + talk.model + " --input " + pipe);
    writer.join();
    says(run, 0, {"waiting for prompts from the pipe " + pipe, "nobody\n"});
}

TEST_CASE("the longest context and reply are the truncations") {
    const SmallTalk talk;
    const std::string turns = "hello\\ngood morning\\nwho are you\n";
    CHECK(talk.generate("--text-truncate 3", turns) == "nobody\n");
    CHECK(talk.generate("--truncate 3 --text-truncate 50", turns) == "a model\n");
    CHECK(talk.generate("--label-truncate 2", "hello\n") == "good\n");
    CHECK(talk.generate("--truncate 2", "hello\n") == "good\n");
    CHECK(talk.generate("--max-length 3 --label-truncate 2", "hello\n") == "good morning\n");
}

TEST_CASE("a truncation that is typed counts before a longest reply that the model brings") {
    const SmallTalk talk;
    const std::string brief = talk.scratch / "brief";
    SmallTalk::done("train --data " + (talk.scratch / "data") + " -mf " + brief + " --init-model " +
                    talk.model +
                    " --max-length 2 --max-train-steps 1 "
                    "-lr 1e-9 --threads 1 --precision fp32");
    const auto reply = [&](const std::string& more) {
        return SmallTalk::done("lockstep generate -mf " + brief + more, "hello\n");
    };
    CHECK(reply("") == "good\n");
    CHECK(reply(" --label-truncate 9") == "good morning\n");
    CHECK(reply(" --truncate 9") == "good morning\n");
    says(run_line("lockstep generate -mf " + brief + " --allow-shared-gpu"), 2,
         {"--allow-shared-gpu", "one process"});
}

TEST_CASE("replies as JSON, and several to each prompt") {
    const SmallTalk talk;
    const Json one = Json::parse(talk.generate("--json", "hello\n"));
    CHECK(one.at("prompt") == "hello");
    CHECK(one.at("reply") == "good morning");
    CHECK(one.at("tokens") == 2);
    CHECK(one.at("score").get<double>() <= 0);
    CHECK(one.size() == 4);

    const std::string beam = "--inference beam --beam-size 3 ";
    const auto texts = lines_of(talk.generate(beam + "--n-best 2", "hello\nwhere\\nis rome\n"));
    REQUIRE(texts.size() == 4);
    CHECK(texts[0].starts_with("1\t"));
    CHECK(texts[0].ends_with("\tgood morning"));
    CHECK(texts[2].starts_with("2\t"));
    CHECK(texts[2].ends_with("\tin \\n italy"));
    const Json several = Json::parse(talk.generate(beam + "--json --n-best 3", "hello\n"));
    REQUIRE(several.at("n_best").size() == 3);
    CHECK(several["n_best"][0]["reply"] == "good morning");
    CHECK(several["n_best"][0]["score"] > several["n_best"][1]["score"]);
    says(run_line("lockstep generate -mf " + talk.model + " --n-best 2"), 2,
         {"--n-best", "--inference"});
}

TEST_CASE("replies do not depend on what they are generated together with") {
    const PreparedDialogues prepared;
    for (const char* model : {"gpt2 --n-positions 48", "transformer/generator --n-positions 48"}) {
        const std::string folder = prepared.model + std::string(model).substr(0, 4);
        SmallTalk::done("train --data " + prepared.data + " -mf " + folder +
                        " --embedding-size 16 --n-layers 1 --ffn-size 16 --max-train-steps 20 "
                        "--threads 1 --precision fp32 -lr 0.01 -m " +
                        model);
        for (const char* how : {"greedy", "beam --beam-size 3", "topk", "nucleus --beam-size 2"}) {
            CAPTURE(how);
            const auto replies = [&](const std::string& batch) {
                return SmallTalk::done("lockstep generate --precision fp32 --threads 1 -mf " +
                                           folder + " --max-length 40 -bs " + batch +
                                           " --inference " + how,
                                       uneven_prompts());
            };
            const std::string alone = replies("1");
            CHECK(lines_of(alone).size() == 15);
            CHECK(replies("2") == alone);
            CHECK(replies("7") == alone);
        }
    }
}

TEST_CASE("lines of JSON that are read as plain text are told") {
    const SmallTalk talk;
    for (const std::string line :
         {R"({"messages": []})", R"({"conversations": []})", R"({"instruction": "hello"})",
          R"({"prompt": "hello", "completion": "you"})"}) {
        CAPTURE(line);
        const auto run = run_line(
            "lockstep generate --precision fp32 --threads 1 -mf " + talk.model + " --max-length 2",
            {line + "\n", {}, ""});
        says(run, 0, {"say --format jsonl"});
    }
}

TEST_CASE("a byte order mark before an array or a line of JSON is no part of it") {
    const SmallTalk talk;
    const std::string file = talk.scratch / "marked.jsonl", line = R"({"text": "hello"})";
    const auto replies = [&](const std::string& text) {
        write_text(file, text);
        return SmallTalk::done("lockstep generate --precision fp32 --threads 1 -mf " + talk.model +
                               " --max-length 4 --input " + file);
    };
    const std::string wanted = replies(line + "\n");
    for (const std::string& text :
         {"\xEF\xBB\xBF[" + line + "]", "\xEF\xBB\xBF" + line, "[" + line + "]"})
        CHECK(replies(text) == wanted);
}

TEST_CASE("prompts that are none, and replies that cannot be written") {
    const SmallTalk talk;
    const std::string file = talk.scratch / "prompts.jsonl", output = talk.scratch / "out.txt";
    write_text(output, "kept");
    const auto refused = [&](const std::string& line, const std::vector<std::string>& words) {
        CAPTURE(line);
        write_text(file, "{\"text\": \"hello\"}\n" + line + "\n");
        auto all = words;
        all.push_back("prompts.jsonl:2: ");
        const auto run = run_line("lockstep generate -mf " + talk.model + " --input " + file +
                                  " --overwrite --output " + output);
        says(run, 2, all);
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        CHECK(read_text(output) == "kept");
    };
    refused("hello", {"not JSON, at byte 1", "\"context\""});
    refused("{\"text\": \"h\xFF\"}", {"byte 12 is not UTF-8"});
    refused("[\"hello\"]", {"not a JSON object"});
    refused("{\"question\": \"hello\"}", {"neither"});
    refused("{\"conversations\": [{\"from\": \"gpt\", \"value\": \"a\"}]}", {"asks nothing"});
    refused("{\"conversations\": [{\"from\": \"x\", \"value\": \"a\"}]}", {"from"});
    refused("{\"text\": \"a\", \"context\": []}", {"both"});
    refused("{\"text\": \"a\", \"x\": -1e999}", {"a number that is too large"});
    refused("{\"text\": 3}", {"\"text\" is not a string"});
    refused("{\"context\": \"hello\"}", {"\"context\" is not a list"});
    refused("{\"context\": [\"a\", null]}", {"a turn that is not a string"});
    refused(std::string(100'000, '['), {"not JSON"});
    refused(std::string((1 << 20) + 1, ' '), {"longer than 1 MiB"});

    write_text(file, "{\"text\": \"hello\"}\n");
    for (const char* own : {"/config.json", "/model.safetensors"}) {
        const std::string before = read_text(talk.model + own);
        says(run_line("lockstep generate -mf " + talk.model + " --overwrite --input " + file +
                      " --output " + talk.model + own),
             2, {own, "of the model's folder"});
        CHECK(read_text(talk.model + own) == before);
    }

    const std::string generate = "lockstep generate -mf " + talk.model;
    says(run_line(generate, ProgramInput{"hi\nh\xFFi\n", {}, ""}), 2,
         {"standard input:2: byte 2 is not UTF-8"});
    write_text(file, "{\"text\": \"hello\"}");
    says(run_line(generate + " --input " + file + " --output " + file), 2, {"is the --input"});
    says(run_program({"bash", "-c", "echo hello | \"$0\" generate -mf \"$1\" > /dev/full",
                      program_path("lockstep"), talk.model}),
         1, {"No space left"});
}

TEST_CASE("prompts of other systems give the same replies, and what is odd in them is told") {
    const SmallTalk talk;
    const std::string plain = "hello\nwho are you\n", replies = "good morning\nnobody\n";
    const std::string mark = "\xEF\xBB\xBF", input = talk.scratch / "prompts.txt";
    for (const std::string& prompts :
         {mark + plain, plain + "\x1A", std::string("hello\r\nwho are you\r\n\x1A")}) {
        CAPTURE(prompts);
        CHECK(talk.generate("", prompts) == replies);
        write_text(input, prompts);
        CHECK(talk.generate("--input " + input) == replies);
    }
    const std::string generate = "lockstep generate -mf " + talk.model;
    says(run_line(generate, ProgramInput{"hello\n" + mark + "who are you\n", {}, ""}), 0,
         {replies, "standard input:2: a byte order mark"});
    says(run_line(generate, ProgramInput{"{\"text\": \"hello\"}\n", {}, ""}), 0,
         {"standard input:1: a line of JSON is read as it is", "--format jsonl"});
    says(run_line(generate, ProgramInput{std::string("\xFF\xFEh\0", 4), {}, ""}), 2,
         {"standard input: is UTF-16"});
    says(run_line(generate, ProgramInput{std::string("hello\nh\0i\n", 10), {}, ""}), 2,
         {"standard input:2: byte 2 is NUL"});
    write_text(input + ".jsonl", mark + "{\"text\": \"hello\", \"mood\": 1}\n");
    says(run_line(generate + " --input " + input + ".jsonl"), 0,
         {"good morning", "prompts.txt.jsonl:1: the member 'mood' is unknown and is left out"});
    write_text(input + ".jsonl", "{\"text\": \"hello\", \"text\": \"who are you\"}\n");
    says(run_line(generate + " --input " + input + ".jsonl"), 2,
         {"prompts.txt.jsonl:1: \"text\" twice in an object"});
}

TEST_CASE("prompts on the command line") {
    const SmallTalk talk;
    CHECK(answers(talk,
                  {"--prompt", "hello", "who are you", "--prompt=where\\nis rome", "--prompt", ""},
                  "never read\n") == "good morning\nnobody\nin \\n italy\nsilence\n");
    CHECK(answers(talk, {"-bs", "3", "--prompt", "hello", "--prompt", "where\nis rome"}) ==
          "good morning\nin \\n italy\n");
    CHECK(answers(talk, {"--format", "jsonl", "--prompt",
                         R"({"context": ["hello", "good morning", "who are you"]})"}) ==
          "a model\n");
    says(ask(talk, {"--prompt", "hello", "--input", "x"}), 2, {"--prompt contradicts --input"});
    says(ask(talk, {"--format", "jsonl", "--prompt", "hello"}), 2, {"--prompt 1: not JSON"});
    says(ask(talk, {"--prompt", "hello", "h\xFFi"}), 2, {"--prompt 2: byte 2 is not UTF-8"});
    says(run_line("interactive --prompt hello -mf " + talk.model), 2, {"lockstep generate"});
    says(run_line("lockstep eval --prompt hello -mf " + talk.model), 2,
         {"--prompt TEXT of `lockstep generate`"});
}

TEST_CASE("fewer replies than were asked for are told once") {
    const SmallTalk talk;
    const std::string generate =
        "lockstep generate --threads 1 --inference beam --beam-size 3 --n-best 3 -mf " + talk.model;
    const auto run = run_line(generate + " --max-length 2",
                              ProgramInput{"hello\nwho are you\nwhere\\nis rome\n", {}, ""});
    says(run, 0,
         {"--n-best 3: ", " of 3 prompts have fewer replies", "--max-length", "--stop TEXT"});
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(run_line(generate, ProgramInput{"hello\n", {}, ""}).err.empty());
}

TEST_CASE("the prompts of a file are answered together, and those of a pipe one by one") {
    const SmallTalk talk;
    write_text(talk.scratch / "prompts", "hello\nwhere\\nis rome\n\n");
    // The first read takes what is written at once.
    const std::string first = "PATH=${0%/*}:$PATH; lockstep generate --threads 1 -mf " +
                              talk.model + " $1 | dd bs=65536 count=1 2> /dev/null";
    const std::string all = "good morning\nin \\n italy\nsilence\n";
    for (const std::string& input :
         {"--input " + (talk.scratch / "prompts"), "< " + (talk.scratch / "prompts")}) {
        const std::string line = std::string(first).replace(first.find("$1"), 2, input);
        CHECK(run_program({"bash", "-c", line, program_path("lockstep")}).out == all);
    }
    // This pipe has no second prompt before the first is answered.
    const std::string pipe = talk.scratch / "pipe", replies = talk.scratch / "replies";
    const auto run =
        run_program({"bash", "-c",
                     "mkfifo " + pipe + "; PATH=${0%/*}:$PATH; lockstep generate --threads 1 -mf " +
                         talk.model + " < " + pipe + " > " + replies + " & exec 3> " + pipe +
                         "; echo hello >&3; until grep -qs morning " + replies +
                         "; do sleep 0.05; done; exec 3>&-; wait",
                     program_path("lockstep")});
    CHECK(run.code == 0);
}

TEST_CASE("a file that another program is about to write is refused at once") {
    const SmallTalk talk;
    const std::string output = talk.scratch / "out.txt", prompts = talk.scratch / "prompts";
    const std::string again =
        "lockstep generate --threads 1 -mf " + talk.model + " --overwrite --prompt hello --output ";
    // The first one reads prompts until the pipe ends. Its temporary file says that it has begun.
    const std::string first = "mkfifo " + prompts + "; sleep 600 > " + prompts +
                              " & \"$0\" generate --threads 1 -mf " + talk.model + " --output " +
                              output + " --input " + prompts + " & p=$!; until ls " + output +
                              ".tmp-0 2> /dev/null; do sleep 0.05; done; ";
    const auto both = run_program({"bash", "-c",
                                   first + "PATH=${0%/*}:$PATH; " + again + output +
                                       "; echo code $?; kill -9 $p %1; wait $p; " + again + output +
                                       "; echo code $?",
                                   program_path("lockstep")});
    says(both, 0,
         {output + ": another program writes there at this moment", "code 2\n", "code 0\n"});
    CHECK(read_text(output) == "good morning\n");
    CHECK(!std::filesystem::exists(output + ".tmp-0"));
}

TEST_CASE("prompts come in the forms in which prepare reads conversations") {
    const SmallTalk talk;
    const std::string share_gpt =
        R"({"conversations": [{"from": "human", "value": "hello"}, {"from": "gpt", "value": )"
        R"("good morning"}, {"from": "human", "value": "who are you"}, {"from": "gpt", "value": "x"}]})";
    const std::vector<std::pair<std::string, std::string>> lines{
        {share_gpt, "a model"},
        {R"({"instruction": "hello", "input": "", "output": "x"})", "good morning"},
        {R"({"instruction": "where\nis rome"})", "in \\n italy"},
        {R"({"prompt": "hello", "completion": "x"})", "good morning"},
        {R"({"prompt": "hello"})", "good morning"},
        {R"({"prompt": [{"role": "user", "content": "hello"}], "completion": []})", "good morning"},
        {R"({"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": )"
         R"("good morning"}, {"role": "user", "content": "who are you"}]})",
         "a model"},
        {R"({"text": "who are you"})", "nobody"}};
    std::string all, array, replies;
    for (const auto& [line, reply] : lines) {
        all += line + "\n";
        array += (array.empty() ? "\n [" : ",\n") + line;
        replies += reply + "\n";
    }
    write_text(talk.scratch / "prompts.jsonl", all);
    CHECK(talk.generate("--input " + (talk.scratch / "prompts.jsonl")) == replies);
    write_text(talk.scratch / "prompts.json", array + "\n]\n");
    CHECK(talk.generate("--input " + (talk.scratch / "prompts.json")) == replies);
    CHECK(talk.generate("--format jsonl", array + "]") == replies);
    const std::string cut = talk.scratch / "cut.json";
    write_text(cut, array);
    says(run_line("lockstep generate -mf " + talk.model + " --input " + cut), 2,
         {"cut.json", "is not closed by ']'"});
    write_text(cut, "[\n{\"text\": \"hello\"},\n{\"text\": 3}\n]");
    says(run_line("lockstep generate -mf " + talk.model + " --input " + cut), 2,
         {"cut.json:3: \"text\" is not a string"});
    const std::string json = talk.generate("--json", share_gpt + "\n");
    CHECK(json.empty() == false);
    CHECK(talk.generate("--json --format jsonl", share_gpt + "\n").find("\"x\"") ==
          std::string::npos);
}

TEST_CASE("a penalty and min-p are the model's, and refused where nobody reads them") {
    const SmallTalk talk;
    CHECK(talk.generate("--repetition-penalty 1.2", "hello\n") == "good morning\n");
    const std::string draw = "--inference nucleus --topp 1 --temperature 5 --min-p ";
    CHECK(talk.generate(draw + "1", "hello\nwho are you\n") == "good morning\nnobody\n");
    const std::string generate = "lockstep generate --prompt hello -mf " + talk.model;
    says(run_line(generate + " --min-p 0.1"), 2,
         {"--min-p has no effect", "--inference nucleus or topk"});
    says(run_line(generate + " --repetition-penalty 0"), 2,
         {"--repetition-penalty", "more than 0"});
    says(run_line(generate + " --overwrite"), 2, {"--overwrite has no effect", "--output"});
    says(run_line("lockstep eval --skip-generation true --beam-size 2 -mf " + talk.model), 2,
         {"--beam-size has no effect", "--skip-generation true"});
}
