// SPDX-License-Identifier: Apache-2.0
// Whoever comes from ParlAI is answered: each option that ParlAI's own parsers take, by its
// program.
#include "launcher/command_line/habits.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "launcher/command_line/command_line.hpp"
#include "launcher/options/prepare_checks.hpp"
#include "launcher/options/prepare_options.hpp"
#include "launcher/options/run_command.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

using Words = std::vector<std::string>;
using Parse = void (*)(const Words&);

template <Task task, Ranks ranks>
void parse(const Words& words) {
    parse_run(task, "", words, ranks);
}

void parse_prepare(const Words& words) {
    PrepareConfig config;
    const auto line = parse_command_line(words, {prepare_table(config), tokenizer_table(config)});
    check_prepare(config, line.given);
}

const std::map<std::string, Parse> programs{
    {"train", parse<Task::train, Ranks::one>},
    {"multiprocessing_train", parse<Task::train, Ranks::started_here>},
    {"distributed_train", parse<Task::train, Ranks::of_job>},
    {"eval", parse<Task::evaluate, Ranks::one>},
    {"multiprocessing_eval", parse<Task::evaluate, Ranks::started_here>},
    {"display_model", parse<Task::display, Ranks::any>},
    {"interactive", parse<Task::interactive, Ranks::any>},
    {"self_chat", parse<Task::self_chat, Ranks::any>},
    {"generate", parse<Task::generate, Ranks::any>},
    {"build_dict", parse_prepare},
};

// Returns the refusal of `words`, or "" if they are accepted.
std::string answer(const std::string& program, const Words& words) {
    try {
        programs.at(program)(words);
    } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::config);
        return e.what();
    }
    return "";
}

// The program says more of an option than that there is none, or has it. A value is attached that
// no option takes without a word.
bool is_answered(const std::string& program, const std::string& option) {
    const std::string said = answer(program, {"--" + option + "=\x01"});
    const bool unknown = said.find("no such option; did you mean") != std::string::npos ||
                         said.ends_with("no such option; --help lists all");
    return !unknown;
}

std::string to_train(const Words& more) {
    Words words{"--data", "d", "-mf", "m", "--num-epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return answer("train", words);
}

}  // namespace

TEST_CASE("every option of ParlAI's programs is had or refused with what to do instead") {
    std::ifstream golden("tests/launcher/golden/parlai_options.txt");
    REQUIRE(golden);
    std::size_t options = 0;
    for (std::string line; std::getline(golden, line);) {
        std::istringstream words(line);
        std::string program;
        words >> program;
        REQUIRE(programs.contains(program));
        for (std::string option; words >> option; ++options) {
            CAPTURE(program);
            CAPTURE(option);
            CHECK(is_answered(program, option));
        }
    }
    CHECK(options > 1200);
    CHECK_FALSE(is_answered("train", "no-such-option-at-all"));
}

TEST_CASE("an option of another program is refused by what to type instead") {
    const auto of = [](const std::string& program, const Words& words) {
        return answer(program, words);
    };
    CHECK(of("train", {"--distributed-world-size", "4"}) ==
          "--distributed-world-size: not an option here; train is one rank; start several by "
          "multiprocessing_train, or distributed_train under a launcher");
    CHECK(of("eval", {"--max-restarts", "2"}).find("multiprocessing_eval") != std::string::npos);
    CHECK(of("distributed_train", {"--max-restarts", "2"}) ==
          "--max-restarts: not an option here; what starts the ranks can start them again: give it "
          "to multiprocessing_train or distributed_launch");
    CHECK(of("multiprocessing_train", {"--rank", "0"}).find("give it to distributed_train") !=
          std::string::npos);
    CHECK(of("eval", {"--n-layers", "2"}) ==
          "--n-layers: not an option here; the model in -mf has its own; leave it out");
    CHECK(of("eval", {"-opt", "adam"}) ==
          "-opt: not an option here; it is for training; leave it out");
    CHECK(of("eval", {"--update-freq", "2"}).find("for training") != std::string::npos);
    CHECK(of("eval", {"--trace", "t"}).find("only training") != std::string::npos);
    CHECK(of("train", {"--split", "valid"}).find("`lockstep eval`") != std::string::npos);
    CHECK(of("train", {"-rf", "f"}).find("`lockstep eval`") != std::string::npos);
    CHECK(of("display_model", {"-rf", "f"}).find("`lockstep eval`") != std::string::npos);
    CHECK(of("display_model", {"--rank", "0"}).find("leave it out") != std::string::npos);
    CHECK(of("display_model", {"-opt", "sgd"}).find("for training") != std::string::npos);
    CHECK(of("interactive", {"-lr", "1"}).find("for training") != std::string::npos);
    CHECK(of("display_model", {"--metrics", "all"}).find("`lockstep eval`") != std::string::npos);
    CHECK(of("eval", {"-et", "d"}) ==
          "-et: not an option here; evaluate other data by `lockstep eval --data OTHER -mf MODEL`");
    CHECK(of("display_model", {"-dt", "test"}) ==
          "-dt: no such option; it is --split of `lockstep eval`, display_model and display_data: "
          "train, valid or test");
    for (const char* unread : {"--batchsize", "--data", "--trace", "--quiet"})
        CHECK(of("interactive", {unread, "7"}).find("not an option here") != std::string::npos);
    CHECK(of("interactive", {"--input", "p.txt"}) ==
          "--input: not an option here; it is for `lockstep generate`; leave it out");
    CHECK(of("interactive", {"--output", "o.txt"}).find("`lockstep generate`") !=
          std::string::npos);
    CHECK(of("generate", {"--single-turn"}).find("`lockstep interactive`") != std::string::npos);
    CHECK(of("generate", {"--data", "d"}).find("not an option here") != std::string::npos);
}

TEST_CASE("a path that stands alone is told as the option that it belongs to") {
    const tests::ScratchFolder scratch;
    const std::string folder = scratch.path();
    tests::write_text(folder + "/dataset.json", "{}");
    CHECK(answer("train", {folder}).ends_with("; give the data by --data " + folder));
    // These programs refuse --data or --input.
    CHECK(answer("interactive", {folder}).ends_with("; give the model's folder by -mf " + folder));
    CHECK(answer("generate", {"none"}).ends_with("; give the model's folder by -mf none"));
    CHECK(answer("build_dict", {folder + "/dataset.json"})
              .ends_with("; give the text by --input " + folder + "/dataset.json"));
    std::filesystem::rename(folder + "/dataset.json", folder + "/config.json");
    CHECK(answer("eval", {folder}).ends_with("; give the model's folder by -mf " + folder));
    CHECK(answer("eval", {"none"}).ends_with("a model's folder is given by -mf, data by --data"));
}

TEST_CASE("a model that is not there is told before data that it would have named") {
    for (const char* program : {"eval", "display_model"})
        CHECK(answer(program, {"-mf", "nowhere"}) ==
              "nowhere: holds no model (no config.json); train one with -mf nowhere");
}

TEST_CASE("the ranks' options are taken by those programs that read them") {
    const Words run{"--data", "d", "-mf", "m", "--num-epochs", "1", "--distributed-world-size",
                    "2"};
    CHECK(answer("multiprocessing_train", run).empty());
    CHECK(answer("distributed_train", run).empty());
    Words restarted = run;
    restarted.insert(restarted.end(), {"--max-restarts", "1", "--port", "29500"});
    CHECK(answer("multiprocessing_train", restarted).empty());
    CHECK(to_train({"--timeout", "10"}).empty());
    CHECK(to_train({"--split", "valid"}).find("not an option here") != std::string::npos);
}

TEST_CASE("a model of ParlAI's is told how to become one of Lockstep's") {
    const tests::ScratchFolder scratch;
    const std::string theirs = scratch / "model";
    tests::write_text(theirs, "PK");
    CHECK(instead_of_model(theirs).empty());
    tests::write_text(theirs + ".opt", "{}");
    CHECK(to_train({"-im", theirs}) ==
          "--init-model " + theirs +
              ": is a model file of ParlAI's; examples/weights_from_parlai.py makes a model folder "
              "of it, which -mf and --init-model take");
    CHECK(answer("eval", {"--data", "d", "-mf", theirs}).find("weights_from_parlai.py") !=
          std::string::npos);
    CHECK(to_train({"-im", "zoo:blender/blender_90M/model"}).find("ParlAI's zoo") !=
          std::string::npos);
    CHECK(instead_of_model(scratch / "none").empty());
    CHECK(instead_of_model("").empty());
}

TEST_CASE("prepare refuses what its format or tokenizer does not read") {
    const auto prepare = [](const Words& words) { return answer("build_dict", words); };
    for (const char* option : {"--packing", "--max_seq_length", "--dataset_name",
                               "--tokenizer-name", "--max-train-samples"}) {
        CAPTURE(option);
        CHECK(prepare({option, "8"}).find("; ") != std::string::npos);
        CHECK(prepare({option, "8"}).find("lockstep prepare") == std::string::npos);
    }
    CHECK(prepare({"--packing"}) ==
          "--packing: no such option; it is the data's: `--help` says what is read and how");
    CHECK(prepare({"--block-size", "64"}) ==
          "--block-size: belongs to --format text; leave it out");
    CHECK(prepare({"--format", "text", "--block-size", "64", "--documents", "file"}).empty());
    CHECK(prepare({"--label-turns", "both"}).find("--format jsonl") != std::string::npos);
    CHECK(prepare({"--format", "jsonl", "--label-turns", "both", "-histsz", "2"}).empty());
    CHECK(prepare({"--format", "text", "-histsz", "2"}).find("dialogues") != std::string::npos);
    CHECK(prepare({"--vocab-size", "99"}).find("--tokenizer sentencepiece or bytelevelbpe") !=
          std::string::npos);
    CHECK(prepare({"-tok", "sentencepiece", "--vocab-size", "99"}).empty());
    CHECK(prepare({"-tok", "sentencepiece", "--dict-minfreq", "2"}).find("--tokenizer re") !=
          std::string::npos);
    CHECK(prepare({"--dict-minfreq", "2", "--dict-maxtokens", "9"}).empty());
    CHECK(prepare({"--dict-minfreq", "2", "--dict-file", "D"}).empty());
    for (const char* option : {"--dict-minfreq", "--dict-maxtokens", "--vocab-size"})
        CHECK(prepare({option, "99", "--dict-file", "D", "--input", "T", "--out", "O"})
                  .find("belongs to a new dictionary") != std::string::npos);
    CHECK(prepare({"--shards", "2", "--dict-file", "D", "--test", "T", "--out", "O"})
              .find("the rows of --input") != std::string::npos);
    CHECK(prepare({"--split-seed", "2"}) ==
          "--split-seed: belongs to --valid-fraction and --test-fraction; leave it out");
    CHECK(prepare({"--split-seed", "2", "--test-fraction", "0.1"}).empty());
    for (const char* fraction : {"0", "1", "-0.1", "nan", "1e400", "10%"})
        CHECK(prepare({"--valid-fraction", fraction}).starts_with("--valid-fraction: '"));
}

TEST_CASE("help lists only what a program takes") {
    OptionTable table("Some");
    std::string text;
    table.text("taken", text, "T", "taken");
    table.text("not-taken", text, "T", "refused");
    table.refuse({"not-taken"}, "leave it out");
    const std::string help = help_text("usage", {table});
    CHECK(help.find("--taken") != std::string::npos);
    CHECK(help.find("--not-taken") == std::string::npos);
}

TEST_CASE("ParlAI's habits are told what to type here") {
    CHECK(to_train({"--no-cuda"}) == "--no-cuda: no such option; it is --device cpu here");
    CHECK(to_train({"--gpu", "1"}).find("CUDA_VISIBLE_DEVICES") != std::string::npos);
    CHECK(to_train({"-t", "convai2"}).find("lockstep prepare") != std::string::npos);
    // The text may lie there already, and prepare itself is asked, too.
    CHECK(answer("build_dict", {"-t", "convai2"}).find("parlai convert_to_parlai") !=
          std::string::npos);
    CHECK(answer("build_dict", {"-tok", "bpe"}).find("give bytelevelbpe") != std::string::npos);
    CHECK(to_train({"-histsz", "2"}).find("`lockstep prepare`") != std::string::npos);
    CHECK(to_train({"--tensorboard_log", "true"}).find("always written") != std::string::npos);
    CHECK(to_train({"-wblog", "true"}).empty());
    CHECK(to_train({"--wandb-name", "n"}).find("WANDB_NAME") != std::string::npos);
    CHECK(answer("eval", {"--save-world-logs", "true"}).find("--world-logs FILE") !=
          std::string::npos);
    CHECK(to_train({"--init-opt", "f"}).find("--config FILE") != std::string::npos);
    CHECK(to_train({"-lfc", "false"}).find("another folder") != std::string::npos);
    CHECK(to_train({"--gradient_accumulation_steps", "4"}).find("--update-freq") !=
          std::string::npos);
    CHECK(to_train({"-i", "model"}).find("-im") != std::string::npos);
    CHECK(to_train({"-im", "model"}).empty());
    CHECK(to_train({"-m", "bart"}).empty());
    CHECK(to_train({"-m", "seq2seq"}) ==
          "--model: 'seq2seq' is not one of "
          "transformer/generator|gpt2|llama|mistral|qwen2|qwen3|phi3|"
          "bart|blenderbot|blenderbot-small; give transformer/generator, the encoder-decoder that "
          "is here");
    CHECK(to_train({"-m", "hugging_face/gpt2"}).find("give gpt2") != std::string::npos);
    CHECK(to_train({"--inference", "delayedbeam"}).find("give beam or nucleus") !=
          std::string::npos);
    CHECK(instead_of_option("").empty());
    CHECK(instead_of_option("t t").empty());
}
