// SPDX-License-Identifier: Apache-2.0
// Whoever comes from another trainer than ParlAI is told what to type.
#include "launcher/command_line/trainer_habits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "launcher/command_line/command_line.hpp"
#include "launcher/options/prepare_options.hpp"
#include "launcher/options/run_command.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

using Words = std::vector<std::string>;

// Returns what the program says of these words; empty: it accepts them.
std::string refusal(const std::string& program, const Words& more) {
    const Task task = program == "train"      ? Task::train
                      : program == "generate" ? Task::generate
                                              : Task::interactive;
    Words words{"-mf", "m"};
    if (task == Task::train) words = {"--data", "d", "-mf", "m", "--num-epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    try {
        parse_run(task, "", words, Ranks::one);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

// Returns the long names and short forms of all options of the programs that hints speak of.
std::set<std::string> all_options() {
    std::set<std::string> names{"help", "config", "valid", "nproc-per-node", "merge"};
    RunConfig run;
    PrepareConfig prepare;
    std::vector<OptionTable> tables{prepare_table(prepare), tokenizer_table(prepare)};
    for (const Task task : {Task::train, Task::evaluate, Task::generate, Task::interactive,
                            Task::self_chat, Task::plan})
        for (OptionTable& table : run_tables(task, run)) tables.push_back(std::move(table));
    for (const OptionTable& table : tables)
        for (const Option& option : table.options()) names.insert(option.name);
    return names;
}

}  // namespace

TEST_CASE("hints at other trainers' options name options that there are") {
    const std::set<std::string> options = all_options();
    std::size_t hints = 0;
    for (const OptionHabit& habit : trainer_habits()) {
        const std::string text = habit.instead;
        for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos; ++hints) {
            at += 2;
            const std::size_t end =
                text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", at);
            const std::string name = text.substr(at, end - at);
            CAPTURE(text);
            CHECK_MESSAGE(options.contains(name), name << " is no option");
        }
    }
    CHECK(hints > 80);
}

TEST_CASE("no name of another trainer's option is written twice") {
    std::set<std::string> seen;
    for (const OptionHabit& habit : trainer_habits()) {
        std::istringstream names{std::string(habit.names)};
        for (std::string name; names >> name;) {
            CAPTURE(name);
            CHECK(seen.insert(name).second);
            CHECK_FALSE(name.starts_with('-'));
            CHECK(name.find('_') == std::string::npos);
        }
    }
}

TEST_CASE("the options of transformers' Trainer, its launchers and others are answered") {
    const std::vector<std::pair<std::string, std::string>> expected{
        {"max-steps", "--max-train-steps N"},
        {"num-train-epochs", "--num-epochs N"},
        {"epochs", "--num-epochs N"},
        {"output-dir", "-mf DIR"},
        {"overwrite-output-dir", "another -mf"},
        {"save-steps", "--save-every-n-steps N"},
        {"save-strategy", "--save-every-n-steps N"},
        {"save-total-limit", "--keep N"},
        {"eval-steps", "--validation-every-n-steps N"},
        {"eval_delay", "leave it out"},
        {"model_max_length", "--truncate N"},
        {"max_seq_length", "--truncate N"},
        {"completion_only_loss", "the replies alone have a loss"},
        {"assistant_only_loss", "the replies alone have a loss"},
        {"packing", "`lockstep prepare --help`"},
        {"dataset_text_field", "`lockstep prepare --help`"},
        {"evaluation-strategy", "--validation-every-n-epochs N"},
        {"eval-strategy", "--validation-every-n-epochs N"},
        {"logging-steps", "--log-every-n-steps N"},
        {"warmup-steps", "--warmup-updates N"},
        {"warmup-fraction", "--warmup-ratio X"},
        {"lr-scheduler-type", "--lr-scheduler"},
        {"max-grad-norm", "--gradient-clip X"},
        {"bf16", "--precision bf16"},
        {"gradient-checkpointing", "--recompute layer"},
        {"resume-from-checkpoint", "leave it out"},
        {"early-stopping-patience", "--validation-patience N"},
        {"hidden-size", "--embedding-size N"},
        {"per-device-train-batch-size", "--batchsize N"},
        {"per-device-eval-batch-size", "--eval-batchsize N"},
        {"gradient-accumulation-steps", "--update-freq N"},
        {"adam-beta1", "--betas B1,B2"},
        {"adam-epsilon", "--adam-eps X"},
        {"dataloader-num-workers", "--num-workers N"},
        {"model-name-or-path", "--init-model DIR"},
        {"chat-template", "--like (docs/chat.md)"},
        {"tokenizer-name", "--like DIR"},
        {"dataset-name", "lockstep prepare"},
        {"train-file", "lockstep prepare"},
        {"validation-file", "lockstep prepare"},
        {"block-size", "lockstep prepare --block-size N"},
        {"max-seq-length", "--truncate N"},
        {"do-train", "`train` trains"},
        {"do-eval", "`lockstep eval`"},
        {"load-best-model-at-end", "leave it out"},
        {"metric-for-best-model", "--validation-metric NAME"},
        {"report-to", "--wandb-log"},
        {"optim", "--optimizer"},
        {"torch-compile", "leave it out"},
        {"torch-compile-backend", "leave it out"},
        {"ddp-find-unused-parameters", "leave it out"},
        {"ddp-bucket-cap-mb", "--bucket-mb X"},
        {"deepspeed", "--zero 1, 2 or 3"},
        {"fsdp", "--zero 3"},
        {"fsdp-config", "--zero 3"},
        {"push-to-hub", "leave it out"},
        {"hub-model-id", "leave it out"},
        {"group-by-length", "--dynamic-batching"},
        {"label-smoothing-factor", "--label-smoothing X"},
        {"lora-rank", "--lora-r N"},
        {"lora-target-modules", "--lora-modules NAMES"},
        {"target-modules", "--lora-modules NAMES"},
        {"use-peft", "--lora-r N"},
        {"use-rslora", "--lora-rs"},
        {"adapter-name-or-path", "--lora DIR"},
        {"val-set-size", "--valid-fraction X"},
        {"val-size", "--valid-fraction X"},
        {"base-model", "--init-model DIR"},
        {"sequence-len", "--truncate N"},
        {"cutoff-len", "--truncate N"},
        {"sample-packing", "`lockstep prepare --help`"},
        {"lora-target-linear", "--lora-modules all-linear"},
        {"modules-to-save", "--lora-modules-to-save NAMES"},
        {"additional-target", "--lora-modules-to-save NAMES"},
        {"evals-per-epoch", "--validation-every-n-epochs X"},
        {"flash-attention", "leave it out"},
        {"enable-activation-checkpointing", "--recompute layer"},
        {"clip-grad-norm", "--gradient-clip X"},
        {"export-dir", "checkpoint convert RUN OUT --merge"},
        {"max-steps-per-epoch", "--max-train-steps N"},
        {"stage", "no training on preferences"},
        {"wandb-watch", "leave it out"},
        {"datasets", "lockstep prepare"},
        {"merge-and-unload", "checkpoint convert RUN OUT --merge"},
        {"num-processes", "--distributed-world-size N"},
        {"mixed-precision", "--precision"},
        {"max-update", "--max-train-steps N"},
        {"clip-norm", "--gradient-clip X"},
        {"encoder-embed-dim", "--embedding-size N"},
        {"num-key-value-heads", "--n-kv-heads N"},
        {"rms-norm-eps", "--norm-epsilon X"},
        {"z-loss-weight", "--z-loss X"},
    };
    for (const auto& [name, hint] : expected) {
        CAPTURE(name);
        std::string underscored = name;
        std::ranges::replace(underscored, '-', '_');
        for (const std::string& typed : {"--" + name, "--" + underscored, "--" + name + "=1"}) {
            const std::string said = refusal("train", {typed});
            CHECK(said.find("no such option; ") != std::string::npos);
            CHECK_MESSAGE(said.find(hint) != std::string::npos, said);
        }
    }
    for (const char* own : {"--weight-decay", "--seed", "--dropout", "--label-smoothing"})
        CHECK(refusal("train", {own, "0"}).empty());
}

TEST_CASE("the options of transformers' generate and its kin are answered") {
    const std::vector<std::pair<std::string, std::string>> expected{
        {"max-new-tokens", "--max-length N"},
        {"min-new-tokens", "--beam-min-length N"},
        {"num-return-sequences", "--n-best N"},
        {"num-beams", "--inference beam --beam-size N"},
        {"do-sample", "--inference nucleus"},
        {"top-p", "--inference nucleus --topp X"},
        {"top-k", "--inference topk --topk N"},
        {"repeat-penalty", "--repetition-penalty X"},
        {"presence-penalty", "--repetition-penalty X"},
        {"no-repeat-ngram-size", "--beam-block-ngram N"},
        {"length-penalty", "--beam-length-penalty X"},
        {"early-stopping", "leave it out"},
        {"stop-sequences", "--stop TEXT"},
        {"stop-strings", "--stop TEXT"},
    };
    for (const char* program : {"generate", "interactive", "train"})
        for (const auto& [name, hint] : expected) {
            CAPTURE(name);
            const std::string said = refusal(program, {"--" + name, "1"});
            CHECK(said.find("no such option; ") != std::string::npos);
            CHECK_MESSAGE(said.find(hint) != std::string::npos, said);
        }
}

TEST_CASE("other trainers' words for values are answered") {
    const auto says = [](const Words& words, const char* hint) {
        const std::string said = refusal("train", words);
        CHECK_MESSAGE(said.find(hint) != std::string::npos, said);
    };
    says({"--lr-scheduler", "constant_with_warmup"}, "give fixed with --lr-scheduler-decay 1");
    says({"--lr-scheduler", "constant"}, "give none");
    says({"--lr-scheduler", "inverse_sqrt"}, "give invsqrt");
    says({"--lr-scheduler", "warmup_stable_decay"}, "give wsd");
    says({"--lr-scheduler", "cosine_with_restarts"}, "give cosine or linear");
    says({"--optimizer", "adamw_torch_fused"}, "give adamw");
    says({"--optimizer", "adamw_bnb_8bit"}, "--moments int8");
    says({"--precision", "no"}, "give fp32");
    says({"--precision", "bfloat16"}, "give bf16");
    says({"--device", "cuda:0"}, "give cuda");
    CHECK(refusal("generate", {"--inference", "sample"}).find("give topk or nucleus") !=
          std::string::npos);
    // What the hints say to type is accepted.
    CHECK(refusal("train",
                  {"--lr-scheduler", "fixed", "--lr-scheduler-decay", "1", "--warmup-updates", "9"})
              .empty());
}

TEST_CASE("prepare says where an option of training belongs, and takes a tokenizer by --like") {
    const auto refused = [](const Words& words) -> std::string {
        PrepareConfig config;
        try {
            parse_command_line(words, {prepare_table(config), tokenizer_table(config)});
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    CHECK(refused({"--num_train_epochs", "3"}) ==
          "--num_train_epochs: no such option; it belongs to training: it is --num-epochs N there");
    CHECK(refused({"--val_set_size", "3"}).find("; `--valid-fraction X` holds out a share") !=
          std::string::npos);
    CHECK(refused({"--stop_strings", "x"}).find("training") == std::string::npos);
    CHECK(refused({"--max_seq_length", "3"}).find("`lockstep train --truncate N`") !=
          std::string::npos);
    CHECK(refused({"--tokenizer", "models/qwen"})
              .ends_with("; the tokenizer of a model is given by --like FOLDER"));
    CHECK(refused({"--tokenizer", "."}).ends_with("is given by --like FOLDER"));
}

TEST_CASE("programs that use a model take adapters by -mf") {
    for (const char* program : {"generate", "interactive"})
        for (const char* option : {"--lora", "--lora-r"})
            CHECK(refusal(program, {option, "1"}) ==
                  std::string(option) +
                      ": not an option here; a folder with adapters, of a run or of PEFT, is given "
                      "by -mf");
}
