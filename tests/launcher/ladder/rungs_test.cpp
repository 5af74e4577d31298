// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/rungs.hpp"

#include <doctest/doctest.h>

#include "launcher/options/run_command.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::launcher::ladder;

namespace {

using Words = std::vector<std::string>;

RunConfig config_of(const Words& more) {
    Words words{"--data", "D"};
    words.insert(words.end(), more.begin(), more.end());
    return *parse_run(Task::ladder, "", words);
}

Host cpu(int cores) { return {0, cores, train::Precision::bf16}; }

std::vector<Rung> rungs_of(const RunConfig& config, const Host& host) {
    return rungs(config, host, Validation::of_split);
}

// The settings on top of all rungs.
Settings top(const RunConfig& config, const Host& host) {
    Settings settings;
    settings.batchsize = config.batch.batchsize;
    for (const Rung& rung : rungs_of(config, host)) {
        const bool speeds = rung.purpose == Purpose::speed;
        if (speeds && rung.absent.empty()) rung.change(settings);
    }
    return settings;
}

}  // namespace

TEST_CASE("the rungs of the tutorial, one above the other") {
    const Settings settings = top(config_of({"--truncate", "64"}), cpu(32));
    CHECK(settings.batchsize == 128);
    CHECK(settings.eval_batchsize == 256);
    CHECK(settings.generation == Generation::off);
    CHECK(settings.dynamic == data::Dynamic::full);
    CHECK(settings.precision == train::Precision::bf16);
    CHECK(settings.num_workers == 1);
    CHECK(settings.ranks == 4);
    CHECK(top(config_of({}), cpu(2)).ranks == 2);
    const Host gpus{4, 32, train::Precision::bf16};
    CHECK(top(config_of({}), gpus).ranks == 4);
    CHECK(top(config_of({}), gpus).num_workers == 8);
}

TEST_CASE("the user's own values are what the rungs go to") {
    const Settings settings =
        top(config_of({"-bs", "6", "--eval-batchsize", "10", "-dynb", "batchsort", "--num-workers",
                       "3", "--distributed-world-size", "5"}),
            cpu(2));
    CHECK(settings.batchsize == 12);
    CHECK(settings.eval_batchsize == 20);
    CHECK(settings.dynamic == data::Dynamic::batchsort);
    CHECK(settings.num_workers == 3);
    CHECK(settings.ranks == 5);
}

TEST_CASE("rungs that cannot be climbed say why") {
    const Host slow{0, 1, train::Precision::fp32};
    const auto all = rungs(config_of({}), slow, Validation::none);
    CHECK(all[1].absent == "the data has no split `valid`");
    CHECK(all[3].absent == "this processor has no fast products of bf16");
    CHECK(all[6].absent == "there is one core");
    CHECK(rungs_of(config_of({"--precision", "fp32"}), slow)[3].absent ==
          "--precision fp32 was asked for");
    CHECK(rungs_of(config_of({}), {1, 8, train::Precision::fp16})[6].absent == "there is one GPU");
    CHECK(rungs_of(config_of({}), cpu(2))[2].absent ==
          "it needs --text-truncate and --label-truncate, or -dynb batchsort");
    CHECK(rungs_of(config_of({"-dynb", "batchsort"}), cpu(2))[2].absent.empty());
    for (const Rung& rung : rungs_of(config_of({"--truncate", "64"}), cpu(2)))
        CHECK(rung.absent.empty());
}

TEST_CASE("a rung's command is the user's options and its settings") {
    const RunConfig config =
        config_of({"--n-layers", "8", "-bs", "4", "-lr", "0.5", "--fp16", "--fp16-impl",
                   "mem_efficient", "-vme", "9", "--n-positions", "32"});
    const Words first = command_of({.batchsize = 4}, config);
    CHECK(first == Words{"train", "--data", "D", "--learningrate", "0.5", "--n-layers", "8",
                         "--n-positions", "32", "--batchsize", "4", "--skip-generation", "false",
                         "--precision", "fp32"});
    Settings settings = top(config, {2, 8, train::Precision::fp16});
    CHECK(command_of(settings, config) == Words{"multiprocessing_train",
                                                "--data",
                                                "D",
                                                "--learningrate",
                                                "0.5",
                                                "--n-layers",
                                                "8",
                                                "--n-positions",
                                                "32",
                                                "--batchsize",
                                                "8",
                                                "--eval-batchsize",
                                                "16",
                                                "--dynamic-batching",
                                                "full",
                                                "--precision",
                                                "fp16",
                                                "--fp16-impl",
                                                "mem_efficient",
                                                "--num-workers",
                                                "4",
                                                "--distributed-world-size",
                                                "2"});
}

TEST_CASE("the stages of --zero are rungs for memory on several ranks") {
    const RunConfig config = config_of({"--truncate", "64"});
    const auto all = rungs_of(config, cpu(2));
    REQUIRE(all.size() == 10);
    for (const int stage : {1, 2, 3}) {
        const Rung& rung = all[static_cast<std::size_t>(6 + stage)];
        CHECK(rung.purpose == Purpose::memory);
        CHECK(rung.name == "--zero " + std::to_string(stage) + " on 2 ranks");
        Settings settings;  // of one rank, as if several ranks were slower
        rung.change(settings);
        const Words words = command_of(settings, config);
        CHECK(words.front() == "multiprocessing_train");
        CHECK(words.back() == std::to_string(stage));
        CHECK(words[words.size() - 2] == "--zero");
    }
    const auto why = [](const Words& words, int stage, const Host& host) {
        return rungs_of(config_of(words), host)[static_cast<std::size_t>(6 + stage)].absent;
    };
    CHECK(why({}, 1, {0, 1, train::Precision::bf16}) == "it needs several ranks");
    CHECK(why({"--zero", "1"}, 3, cpu(2)) == "the options say what ranks share");
    CHECK(why({"--optimizer", "adafactor"}, 1, cpu(2)) == "adafactor updates whole matrices");
    CHECK(why({"--deterministic"}, 1, cpu(2)).empty());
    CHECK(why({"--deterministic"}, 2, cpu(2)) == "--deterministic adds whole gradients");
}
