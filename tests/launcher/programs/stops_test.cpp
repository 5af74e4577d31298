// SPDX-License-Identifier: Apache-2.0
// Where replies end, and options that cannot change them.
#include "tests/launcher/programs/small_talk.hpp"

using namespace lockstep::tests;
using Words = std::vector<std::string>;

TEST_CASE("a reply ends before the first stop, in each way of decoding and in each batch") {
    const SmallTalk talk;
    const std::string prompts = "hello\nwho are you\nwhere\\nis rome\n";
    const auto stopped = [&](const Words& words) { return answers(talk, words, prompts); };
    CHECK(stopped({"--stop", "morning"}) == "good \nnobody\nin \\n italy\n");
    // Two tokens, of words that have a blank between them, and a part of each.
    CHECK(stopped({"--stop", "d mor"}) == "goo\nnobody\nin \\n italy\n");
    CHECK(stopped({"--stop", "bod", "--stop", "\\n"}) == "good morning\nno\nin \n");
    CHECK(stopped({"--stop", "bod", "\n", "good"}) == "\nno\nin \n");
    // As the tokens of this text decode.
    CHECK(stopped({"--stop=\\nitaly"}) == "good morning\nnobody\nin \n");
    CHECK(stopped({"--stop", "\\\\n"}) == stopped({}));
    CHECK(stopped({"--stop", "never"}) == stopped({}));
    for (const Words& how : std::vector<Words>{{"greedy"},
                                               {"beam", "--beam-size", "3"},
                                               {"topk", "--topk", "1"},
                                               {"nucleus", "--topp", "0.1"}})
        for (const char* batch : {"1", "2", "3"}) {
            CAPTURE(how.front());
            Words words{"--stop", "\\n", "morning", "-bs", batch, "--inference"};
            words.insert(words.end(), how.begin(), how.end());
            CHECK(stopped(words) == "good \nnobody\nin \n");
        }
    says(ask(talk, {"--stop", ""}), 2, {"--stop: an empty text"});
    says(ask(talk, {"--stop", "--"}), 2, {"--stop: needs a value", "equals sign: --stop=--\n"});
    CHECK(stopped({"--stop=--"}) == stopped({}));
    says(ask(talk, {"--stop", "x\xFF"}), 2, {"--stop", "is not UTF-8"});
    says(
        run_line("lockstep eval --data " + (talk.scratch / "data") + " --stop x -mf " + talk.model),
        2, {"--stop: no such option; it is for `lockstep generate`"});
}

TEST_CASE("stops count in batches of uneven prompts, and change nothing where none is found") {
    const PreparedDialogues prepared;
    SmallTalk::done("train --data " + prepared.data + " -mf " + prepared.model +
                    " --embedding-size 16 --n-layers 1 --ffn-size 16 --max-train-steps 20 "
                    "--threads 1 --precision fp32 -lr 0.01 -m gpt2 --n-positions 48");
    for (const char* how : {"beam --beam-size 3", "topk --beam-size 2", "nucleus"}) {
        CAPTURE(how);
        const auto replies = [&](const std::string& more) {
            return SmallTalk::done("lockstep generate --precision fp32 --threads 1 -mf " +
                                       prepared.model + " --max-length 40 " + more +
                                       " --inference " + how,
                                   uneven_prompts());
        };
        // Scores tell whether the bits are the same.
        CHECK(replies("--json -bs 4 --stop no-such-text-at-all") == replies("--json -bs 4"));
        const std::string alone = replies("--stop the --stop ,");
        CHECK(alone != replies(""));
        CHECK(replies("-bs 4 --stop the --stop ,") == alone);
        CHECK(replies("-bs 15 --stop , --stop the") == alone);
        CHECK(alone.find("the") == std::string::npos);
        CHECK(alone.find(',') == std::string::npos);
    }
}

TEST_CASE("options that change no reply are refused") {
    const SmallTalk talk;
    const auto refused = [&](const std::string& options, const std::vector<std::string>& words) {
        const auto run = run_line("lockstep generate -mf " + talk.model + " " + options,
                                  ProgramInput{"hello\n", {}, ""});
        says(run, 2, words);
    };
    refused("--temperature 0.8",
            {"--temperature has no effect: it is for --inference nucleus, topk or beam, and "
             "replies are chosen by --inference greedy: add --inference nucleus, or leave it out"});
    refused("--topp 0.5", {"--topp has no effect", "add --inference nucleus"});
    refused("--topk 5", {"--topk has no effect", "add --inference topk"});
    refused("--beam-min-length 4", {"--beam-min-length has no effect", "add --inference beam"});
    refused("--inference topk --topp 0.5", {"--topp has no effect", "by --inference topk"});
    refused("--inference sample", {"'sample' is not one of", "give topk or nucleus"});
    for (const char* good : {"--temperature 1", "--inference nucleus --topp 0.5 --temperature 0.5",
                             "--inference topk --topk 5", "--inference beam --temperature 0.8"})
        CHECK_FALSE(talk.generate(good, "hello\n").empty());
    // A model may bring them.
    const std::string sampling = talk.scratch / "sampling";
    SmallTalk::done("train --data " + (talk.scratch / "data") + " -mf " + sampling +
                    " --init-model " + talk.model +
                    " --inference nucleus --topp 0.9 --max-train-steps 1 -lr 1e-9 --threads 1");
    const std::string line = "lockstep generate --threads 1 -mf " + sampling;
    CHECK_FALSE(SmallTalk::done(line + " --topp 0.5 --temperature 0.8", "hello\n").empty());
    CHECK_FALSE(SmallTalk::done(line + " --inference greedy", "hello\n").empty());
    for (const std::string program : {"display_model --data ", "lockstep eval --data "})
        says(run_line(program + (talk.scratch / "data") + " --split train --topk 3 -mf " +
                      talk.model),
             2, {"--topk has no effect"});
}
