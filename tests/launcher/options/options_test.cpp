// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "launcher/command_line/command_line.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/options/schedule_checks.hpp"
#include "runtime/core/error.hpp"
#include "tests/launcher/options/train_words.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::launcher::train_words;

TEST_CASE("ParlAI's names, short forms and values are understood") {
    const RunConfig config =
        train_config({"-bs",  "12",         "-dynb", "full",    "--text_truncate",
                      "64",   "-lr",        "5e-4",  "-opt",    "adamw",
                      "-vmt", "ppl",        "-vp",   "3",       "-veps",
                      "1",    "--truncate", "-1",    "--betas", "0.8,0.95"});
    CHECK(config.batch.batchsize == 12);
    CHECK(config.batch.dynamic == data::Dynamic::full);
    CHECK(config.batch.text_truncate == 64);
    CHECK(config.batch.truncate == -1);
    CHECK(config.train.optimizer.learningrate == 5e-4);
    CHECK(config.train.optimizer.kind == train::OptimizerKind::adamw);
    CHECK(config.train.optimizer.beta2 == 0.95);
    CHECK(config.train.validation.patience == 3);
    CHECK(config.model.n_positions == 64);
}

TEST_CASE("none and -1 leave a choice to another option, as in ParlAI") {
    CHECK(train_config({"-dynb", "none"}).batch.dynamic == data::Dynamic::off);
    CHECK(train_config({"--eval-dynamic-batching", "none"}).batch.eval_dynamic.empty());
    CHECK(train_config({"--eval-dynamic-batching", "off"}).batch.eval_dynamic == "off");
    const RunConfig config = train_config({"-nl", "3", "-nel", "1", "--n-layers", "4"});
    CHECK(config.model.encoder_layers == 1);
    CHECK(config.model.decoder_layers == 4);
}

TEST_CASE("booleans come alone, with a word or behind an equals sign") {
    CHECK(train_config({"--learn-positional-embeddings"}).learned_positions);
    CHECK(train_config({"--learn-positional-embeddings", "True", "-bs", "2"}).learned_positions);
    CHECK_FALSE(train_config({"--embeddings-scale=False"}).embeddings_scale);
    CHECK_FALSE(train_config({"--save-after-valid", "no"}).train.save_after_valid);
}

TEST_CASE("the last of a repeated option counts, a list goes on, and --config counts less") {
    using Words = std::vector<std::string>;
    CHECK(train_config({"--data", "A", "B", "--data", "C"}).data == Words{"d", "A", "B", "C"});
    CHECK(train_config({"--data", "A", "--data", "B", "C"}).data == Words{"d", "A", "B", "C"});
    CHECK(train_config({"--data=A", "--data=B"}).data == Words{"d", "A", "B"});
    const tests::ScratchFolder scratch;
    tests::write_text(scratch / "c.ini", "batchsize = 3\nlabel_truncate = 9\n");
    const RunConfig config = train_config({"--config", scratch / "c.ini", "-bs", "4", "-bs", "5"});
    CHECK(config.batch.batchsize == 5);
    CHECK(config.batch.label_truncate == 9);
}

TEST_CASE("an unknown option names the one that was probably meant, if there is one") {
    CHECK(refusal({"--batchsise", "2"}) ==
          "--batchsise: no such option; did you mean --batchsize? (--help lists all)");
    CHECK(refusal({"--droput", "0.1"}).find("did you mean --dropout?") != std::string::npos);
    CHECK(refusal({"--foo"}) == "--foo: no such option; --help lists all");
    CHECK(refusal({"--wblogs"}) == "--wblogs: no such option; --help lists all");
    CHECK(refusal({"--fit", "auto"}) ==
          "--fit: not an option here; it is for `lockstep plan`; leave it out");
}

TEST_CASE("wrong values name the option and what is allowed") {
    CHECK(refusal({"-bs", "0"}) == "--batchsize: '0' is not allowed: give 1 or more");
    CHECK(refusal({"-bs", "4x"}) == "--batchsize: '4x' is not a whole number");
    CHECK(refusal({"-lr", "fast"}) == "--learningrate: 'fast' is not a number");
    CHECK(refusal({"--dropout", "1"}) == "--dropout: '1' is not in [0, 1)");
    for (const char* option : {"--learningrate", "--adam-eps", "--momentum", "--weight-decay",
                               "--warmup-rate", "--lr-scheduler-decay"})  // as torch.optim does
        CHECK(refusal({option, "-1"}) ==
              std::string(option) + ": '-1' is not a number of 0 or more");
    CHECK(refusal({"-lr", "1e308"}) ==
          "--learningrate: '1e308' is not a number of at most 3.4e38, the largest of fp32");
    CHECK(
        refusal({"-lr", "1e-300"}) ==
        "--learningrate: '1e-300' is not 0 and less than fp32 holds: give 0, or at least 1.2e-38");
    CHECK(refusal({"--dropout", "0.99999999999"}) == "--dropout: '0.99999999999' is not in [0, 1)");
    const std::vector<std::vector<std::string>> too_large{
        {"--momentum", "1"},           {"--adam-eps", "1"},        {"--warmup-rate", "1"},
        {"--lr-scheduler-decay", "1"}, {"--weight-decay", "1000"}, {"--rope-theta", "1e+15"},
        {"--norm-epsilon", "1"},       {"--z-loss", "1"},          {"--lora-alpha", "1e+06"}};
    for (const auto& option : too_large)
        CHECK(refusal({option[0], "1e30"}) ==
              option[0] + ": '1e30' is not a number of at most " + option[1]);
    CHECK(refusal({"--lora-r", "2", "--lora-alpha", "1e-30"})
              .starts_with("--lora-alpha 1e-30: adapters would count for nothing; give 0.001"));
    CHECK(refusal({"--gradient-clip", "1e-300"}).starts_with("--gradient-clip 1e-300: nothing"));
    CHECK(refusal({"--gradient-clip", "-1"}) == "accepted");
    for (const char* option : {"--temperature", "--repetition-penalty"})
        for (const char* value : {"0", "-1", "1e-300", "1e30", "1e308"})
            CHECK(refusal({option, value}).starts_with(std::string(option) + ": give more than 0"));
    CHECK(refusal({"--timeout", "1e-30"}).starts_with("--timeout: give more than 0 seconds"));
    CHECK(refusal({"--bucket-mb", "1e-30"}) == "--bucket-mb: '1e-30' is not in [0.001, 4096]");
    CHECK(refusal({"--adafactor-eps", "1e-30,1e30"}).starts_with("--adafactor-eps: '1e-30,1e30'"));
    CHECK(refusal({"-opt", "lamb"}) ==
          "--optimizer: 'lamb' is not one of sgd|adam|adamw|adafactor|lion|muon");
    CHECK(refusal({"--seed"}) == "--seed: needs a value");
    CHECK(refusal({"--seed="}) == "--seed: needs a value");  // as of a shell's empty variable
    CHECK(refusal({"--seed", ""}) == "--seed: needs a value");
    CHECK(refusal({"--fp16="}) == "--fp16: needs a value");
    CHECK(refusal({"-mf", "-bs", "3"}) == "-mf: needs a value");
    CHECK(refusal({"--betas", "0.9,1"}) == "--betas: '0.9,1' is not two numbers in [0, 1)");
    CHECK(refusal({"--betas", "-1"}).find("in [0, 1)") != std::string::npos);
    CHECK(refusal({"stray"}) ==
          "'stray' is not an option; options begin with --; a model's folder is given by -mf, data "
          "by --data");
    CHECK(refusal({"--batch-tokens", "9", "-dynb", "off"}).find("contradicts") !=
          std::string::npos);
    CHECK(refusal({"-vmt", "f1"}).find("--skip-generation false") != std::string::npos);
}

TEST_CASE("levels of what is calculated again, ParlAI's option among them") {
    using model::Recompute;
    using Plan = model::RecomputePlan;
    CHECK(train_config({}).recompute == Plan{});
    CHECK(train_config({"--recompute", "ffn"}).recompute == Plan{Recompute::ffn});
    CHECK(train_config({"--recompute", "layer:3"}).recompute == Plan{Recompute::layer, 3});
    CHECK_FALSE(train_config({"--recompute", "auto"}).recompute);
    for (const Words& layers : {Words{"--recompute", "layer"}, Words{"--checkpoint-activations"},
                                Words{"--checkpoint-activations", "--recompute", "layer"}})
        CHECK(train_config(layers).recompute == Plan{Recompute::layer});
    CHECK(train_config({"--checkpoint-activations", "false"}).recompute == Plan{});
    CHECK(refusal({"--recompute", "layer:0"}) ==
          "--recompute: 'layer:0' is not allowed: give layer:1 or more, or none");
    for (const char* wrong : {"layer:", "layer:x", "layer:-1", "layer:1.5"})
        CHECK(refusal({"--recompute", wrong}) ==
              "--recompute: '" + std::string(wrong) + "' is not layer:N with a whole number N");
    CHECK(refusal({"--recompute", "ffn:2"}) ==
          "--recompute: 'ffn:2' is not one of none|ffn|layer|layer:N|auto");
    for (const char* other : {"none", "ffn", "layer:1", "auto"})
        CHECK(refusal({"--checkpoint-activations", "--recompute", other}) ==
              "--checkpoint-activations is --recompute layer; leave one of the two out");
    CHECK_NOTHROW(train_config({"--recompute", "layer:99999999999999999999"}));
}

TEST_CASE("numbers that no machine can follow are refused") {
    for (const char* option :
         {"--threads", "--batchsize", "--eval-batchsize", "--batch-tokens", "--truncate",
          "--text-truncate", "--label-truncate", "--n-positions", "--update-freq", "--num-workers",
          "--logical-shards", "--embedding-size", "--ffn-size", "--n-layers"}) {
        CAPTURE(option);
        CHECK(refusal({option, "2147483648"}).find("is not allowed: at most") != std::string::npos);
    }
}

TEST_CASE("gpt2 brings its own positions, norms and activation") {
    const RunConfig config = train_config({"-m", "gpt2", "--text-truncate", "8"});
    CHECK(config.model.kind == model::Kind::gpt2);
    CHECK(config.model.positions == model::Positions::learned);
    CHECK(config.model.embedding_scale == model::EmbeddingScale::none);
    CHECK(config.model.activation == kernels::Activation::gelu_tanh);
    CHECK(config.model.n_positions == 1024);
}

TEST_CASE("a run that continues takes back every value that it has stored") {
    for (const Words& words :
         {Words{}, Words{"-m", "gpt2"}, Words{"--activation", "gelu"}, Words{"--fp16", "true"},
          Words{"-opt", "lion"}, Words{"-opt", "muon", "--muon-lr", "0.1"},
          Words{"-opt", "adafactor", "--adafactor-relative-step", "true"},
          Words{"--recompute", "layer:2"}, Words{"--recompute", "auto"},
          Words{"--checkpoint-activations"}, Words{"--multitask-weights", "1"},
          Words{"--validation-metric", "loss"}}) {
        CAPTURE(words.empty() ? "nothing" : words.back());
        const RunConfig start = train_config(words);
        const StoredOptions stored{.checkpoint = "m/checkpoints/step-00000001",
                                   .values = option_values(Task::train, start),
                                   .lines = start.lines,
                                   .data = start.data};
        const auto next = parse_run(Task::train, "", {"-mf", "m"}, Ranks::any,
                                    [&stored] { return std::optional(stored); });
        CHECK(option_values(Task::train, *next) == stored.values);
        CHECK(next->model == start.model);
    }
}

TEST_CASE("what gpt2 always is may be repeated, not contradicted") {
    const auto gpt2 = [](Words more) {
        more.insert(more.begin(), {"-m", "gpt2"});
        return refusal(more);
    };
    CHECK(gpt2({"--variant", "prelayernorm", "--activation", "gelu", "--embeddings-scale", "false",
                "--learn-positional-embeddings", "true"}) == "accepted");
    CHECK(gpt2({"--variant", "xlm"}) ==
          "--variant: gpt2 always is of the variant prelayernorm; leave it out");
    CHECK(gpt2({"--variant", "aiayn"}).starts_with("--variant: gpt2 always"));
    CHECK(gpt2({"--activation", "relu"}).starts_with("--activation: gpt2 always"));
    CHECK(gpt2({"--embeddings-scale", "true"}).starts_with("--embeddings-scale: gpt2 always"));
    CHECK(gpt2({"--learn-positional-embeddings", "false"})
              .starts_with("--learn-positional-embeddings: gpt2 always"));
    CHECK(refusal({"--variant", "xlm"}) == "accepted");
}

TEST_CASE("validations that can end a run are an end") {
    const auto run = [](Words more) {
        more.insert(more.begin(), {"--data", "d", "-mf", "m"});
        try {
            parse_run(Task::train, "", more);
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string endless = "nothing ends this run";
    CHECK(run({}).starts_with(endless + ": give"));
    CHECK(run({"--num-epochs", "0"}).starts_with(endless + " (--num-epochs of 0 or less sets no "));
    CHECK(run({"-eps", "-1", "-ttim", "0"})
              .starts_with(endless + " (--num-epochs, --max-train-time of 0 or less sets no "));
    CHECK(run({"-veps", "0.25", "-vp", "10", "-vmt", "ppl", "-vmm", "min"}).empty());
    CHECK(run({"-vstep", "5"}).empty());  // the patience is 10 where none is given
    CHECK(run({"-vtim", "5", "-vp", "-1"}).starts_with(endless));
    CHECK(run({"-vtim", "5", "-vp", "-1", "-vcut", "9"}).empty());
    CHECK(run({"-vp", "3"}).starts_with(endless));
    CHECK(run({"-vcut", "9"}).starts_with(endless));
}

TEST_CASE("a budget of longest rows needs to know how long they are") {
    CHECK(refusal({"-dynb", "full", "-bs", "16"}) ==
          "--dynamic-batching full fills a batch to --batchsize longest rows: say how long by "
          "--text-truncate and --label-truncate, or --truncate, or give --batch-tokens");
    CHECK(refusal({"-dynb", "full", "--truncate", "-1"}).starts_with("--dynamic-batching full"));
    CHECK(refusal({"-dynb", "full", "--truncate", "64"}) == "accepted");
    CHECK(refusal({"-dynb", "full", "--text-truncate", "64"}) == "accepted");
    CHECK(refusal({"-dynb", "full", "--n-positions", "64"}) == "accepted");
    CHECK(refusal({"--batch-tokens", "4000"}) == "accepted");
    CHECK(refusal({"-dynb", "full", "--batch-tokens", "4000"}) == "accepted");
    CHECK(refusal({"-dynb", "batchsort"}) == "accepted");
    CHECK_NOTHROW(parse_run(Task::evaluate, "", {"--data", "d", "-mf", "m", "-dynb", "full"}));
}

TEST_CASE("every option of every task has a default or a placeholder to show") {
    for (const Task task :
         {Task::train, Task::evaluate, Task::generate, Task::interactive, Task::self_chat}) {
        RunConfig config;
        const auto tables = run_tables(task, config);
        const std::string help = help_text("usage", tables);
        for (const OptionTable& table : tables) {
            for (const Option& option : table.options()) {
                CAPTURE(option.name);
                CHECK_FALSE(option.help.empty());
                CHECK(help.find("--" + option.name) != std::string::npos);
            }
        }
    }
}

TEST_CASE(
    "an option that nobody reads under the others is refused, unless it asks for its default") {
    const std::vector<Words> unread{
        {"--decay-ratio", "0.2", "--lr-scheduler", "cosine"},
        {"--lr-scheduler-decay", "0.3", "--lr-scheduler", "linear"},
        {"--lr-scheduler-patience", "9", "--lr-scheduler", "none"},
        {"--invsqrt-lr-decay-gamma", "9"},
        {"--min-lr", "1e-6", "--lr-scheduler", "invsqrt"},
        {"--warmup-rate", "0.5"},
        {"--betas", "0.8,0.9", "--optimizer", "sgd"},
        {"--adam-eps", "1e-6", "--optimizer", "lion"},
        {"--amsgrad", "true", "--optimizer", "adafactor"},
        {"--momentum", "0.9", "--optimizer", "muon"},
        {"--nesterov", "false", "--optimizer", "adamw"},
        {"--muon-learningrate", "0.1", "--optimizer", "adamw"},
        {"--muon-momentum", "0.9", "--optimizer", "sgd"},
        {"--muon-adjust-lr", "match_rms_adamw"},
        {"--adafactor-eps", "1e-20,0.01", "--optimizer", "adam"},
        {"--n-encoder-layers", "2", "-m", "gpt2"},
        {"--n-kv-heads", "1", "-m", "gpt2"},
        {"--rope-theta", "500000"},
        {"--norm-epsilon", "1e-6"},
        {"--validation-patience", "3"},
        {"--short-final-eval", "true"},
        {"--metrics", "bleu"},
    };
    for (const Words& words : unread) {
        const std::string said = refusal(words);
        CHECK_MESSAGE(said.starts_with(words.front() + " has no effect: it is for "), said);
        CHECK_MESSAGE(said.ends_with("; change that, or leave it out"), said);
    }
    const std::vector<Words> read{
        {"--decay-ratio", "0.1"},
        {"--decay-ratio", "0.2", "--lr-scheduler", "wsd"},
        {"--lr-scheduler-decay", "0.3"},
        {"--warmup-rate", "0.5", "--warmup-updates", "3"},
        {"--momentum", "0", "--optimizer", "adam"},
        {"--betas", "0.8,0.9", "--optimizer", "lion"},
        {"--n-encoder-layers", "-1", "-m", "gpt2"},
        {"--n-decoder-layers", "3", "-m", "gpt2"},
        {"--rope-theta", "500000", "-m", "qwen3"},
        {"--validation-patience", "0"},
        {"--validation-patience", "3", "-vstep", "5"},
        {"--metrics", "bleu", "--skip-generation", "false"},
        {"--beam-size", "3"},  // the model keeps it, and the next one
        {"--beam-block-full-context", "false"},
    };
    for (const Words& words : read) CHECK_MESSAGE(refusal(words) == "accepted", words.front());
}

TEST_CASE("a llama that begins from nothing has the parts that its options say") {
    const model::ModelConfig m =
        train_config({"-m", "llama", "--n-heads", "6", "--embedding-size", "36", "--n-kv-heads",
                      "2", "--rope-theta", "5e5", "--norm-epsilon", "1e-6"})
            .model;
    CHECK(m.parts.kv_heads == 2);
    CHECK(m.parts.rotary.theta == 5e5F);
    CHECK(m.parts.norm_epsilon == 1e-6F);
    const model::ModelConfig plain = train_config({"-m", "llama"}).model;
    CHECK(plain.parts.kv_heads == 0);
    CHECK(plain.parts.rotary.theta == 10000);
    CHECK(plain.parts.norm_epsilon == 1e-5F);
    CHECK(train_config({"--z-loss", "1e-4"}).model.z_loss == 1e-4F);
    CHECK(refusal({"--z-loss", "-1"}).starts_with("--z-loss: "));
    CHECK(refusal({"--repetition-penalty", "0"}).starts_with("--repetition-penalty: "));
    CHECK(refusal({"--min-p", "1.5"}).starts_with("--min-p: "));
}

TEST_CASE("a wsd schedule says how its updates are divided") {
    const RunConfig wsd =
        train_config({"--lr-scheduler", "wsd", "--decay-ratio", "0.25", "--warmup-updates", "7"});
    CHECK(phases_text(wsd, 100) ==
          "the learning rate warms up in 7 updates, stays in 68 and falls in the last 25 "
          "(--lr-scheduler wsd)");
    CHECK(phases_text(train_config({"--lr-scheduler", "cosine"}), 100).empty());
}
