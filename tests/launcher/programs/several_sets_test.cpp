// SPDX-License-Identifier: Apache-2.0
// Training and evaluating on several data sets: real processes, real text.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

void prepare(const std::string& words) {
    const auto run = run_line("lockstep prepare " + words);
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
}

// 150 and 60 dialogues of one dictionary, with 20 and 8 for validation.
struct TwoSets {
    ScratchFolder scratch;
    std::string big = scratch / "big", small = scratch / "small";

    TwoSets() {
        copy_head("examples/shakespeare/train.txt", scratch / "big.txt", 150);
        copy_head("examples/shakespeare/valid.txt", scratch / "big-valid.txt", 20);
        copy_head("examples/shakespeare/valid.txt", scratch / "small.txt", 60);
        copy_head("examples/shakespeare/train.txt", scratch / "small-valid.txt", 8);
        prepare("--input " + (scratch / "big.txt") + " --valid " + (scratch / "big-valid.txt") +
                " --out " + big);
        prepare("--input " + (scratch / "small.txt") + " --valid " + (scratch / "small-valid.txt") +
                " --dict-file " + big + "/dictionary.txt --out " + small);
    }

    std::string data() const { return " --data " + big + " " + small + " "; }

    // --multitask-weights 1 3: in an epoch of 210 rows 52 or 53 of 150, and 157 or 158 of 60.
    std::string options(const std::string& weights = "1 3") const {
        return data() + "--multitask-weights " + weights +
               " --n-layers 1 --embedding-size 32 --ffn-size 64 --dropout 0.2 -lr 1e-3 -bs 4"
               " --text-truncate 48 --label-truncate 24 --threads 1 --log-every-n-steps 1"
               " --precision fp32 --seed 7 ";
    }
};

ProgramResult done(const std::string& line) {
    ProgramResult run = run_line(line);
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    return run;
}

void refused(const std::string& line, const std::vector<std::string>& words) {
    const ProgramResult run = run_line(line);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    says(run, 2, words);
}

// Reads the lines "valid NAME VALUE" that `eval` prints.
std::map<std::string, double> metrics_of(const std::string& line) {
    std::istringstream out(done(line).out);
    std::map<std::string, double> metrics;
    std::string split, name;
    for (double value = 0; out >> split >> name >> value;) metrics[name] = value;
    return metrics;
}

}  // namespace

TEST_CASE("a run on two sets that was stopped, or killed, continues bit for bit") {
    const TwoSets sets;
    for (const std::string batching : {"", "-dynb full --num-workers 2 "}) {
        const std::string common = sets.options() + batching + "--validation-every-n-steps 25 -mf ";
        const std::string whole = sets.scratch / "whole", parts = sets.scratch / "parts",
                          killed = sets.scratch / "killed";
        done("train" + common + whole + " --max-train-steps 70");
        for (const char* steps : {"11", "52", "53", "70"})
            done("train" + common + parts + " --max-train-steps " + steps);
        CHECK(losses(parts) == losses(whole));
        CHECK(read_text(parts + "/model.safetensors") == read_text(whole + "/model.safetensors"));

        run_program({"bash", "-c",
                     "bin=$(dirname $(readlink /proc/$PPID/exe)); $bin/train " + common + killed +
                         " --max-train-steps 70 --save-every-n-steps 9 & pid=$!; until [ -e " +
                         killed +
                         "/checkpoints/step-00000018 ] || ! kill -0 $pid; do sleep "
                         "0.01; done; kill -KILL $pid; wait $pid"});
        done("train" + common + killed + " --max-train-steps 70 --save-every-n-steps 9");
        CHECK(losses(killed) == losses(whole));
        CHECK(read_text(killed + "/model.safetensors") == read_text(whole + "/model.safetensors"));
        for (const std::string& folder : {whole, parts, killed}) fs::remove_all(folder);
    }
}

TEST_CASE("1 x 4, 2 x 2 and 4 x 1 take the same steps of two sets") {
    const TwoSets sets;
    std::vector<double> first;
    for (const int ranks : {1, 2, 4}) {
        const std::string model = sets.scratch / std::to_string(ranks);
        const auto run =
            done("multiprocessing_train --distributed-world-size " + std::to_string(ranks) +
                 " --update-freq " + std::to_string(4 / ranks) + sets.options() + "-mf " + model +
                 " --max-train-steps 40");
        CHECK(run.out.find("epoch 1: big: 53 rows, pass 1 at 53 of 150; small: 157 rows, passes 1 "
                           "to 2 complete, each of 60 rows used exactly once in each, pass 3 at 37 "
                           "of 60") != std::string::npos);
        CHECK(run.out.find("epoch 2: big: 53 rows, pass 1 at 106 of 150; small: 157 rows, passes 3 "
                           "to 5 complete") != std::string::npos);
        const std::vector<double> loss = losses(model);
        REQUIRE(loss.size() == 40);
        if (first.empty()) first = loss;
        for (std::size_t step = 0; step < loss.size(); ++step)
            CHECK(std::abs(loss[step] - first[step]) <= 1e-4 * first[step]);
    }
    CHECK(first.back() < first.front());
}

TEST_CASE("stochastic weights use every row once an epoch") {
    const TwoSets sets;
    const auto run = done("train" + sets.options("stochastic") + "-mf " + (sets.scratch / "model") +
                          " --num-epochs 1");
    CHECK(
        run.out.find("epoch 1: big: 150 rows, pass 1 complete, each of 150 rows used exactly "
                     "once; small: 60 rows, pass 1 complete, each of 60 rows used exactly once") !=
        std::string::npos);
}

TEST_CASE("metrics are told by set, and averaged over sets or over rows") {
    const TwoSets sets;
    const std::string model = sets.scratch / "model";
    const auto run = done("train" + sets.options() + "-mf " + model +
                          " --num-epochs 1 --validation-every-n-epochs 1 -vmt small/ppl");
    CHECK(run.out.find("big/ppl") != std::string::npos);
    const std::string lines = read_text(model + "/metrics.jsonl");
    for (const char* name : {"\"big/ppl\":", "\"small/loss\":", "\"ppl\":"})
        CHECK(lines.find(name) != std::string::npos);

    const auto report = nlohmann::json::parse(read_text(model + "/report.json"));
    CHECK(report.at("opt").at("data") == nlohmann::json{sets.big, sets.small});
    CHECK(report.at("opt").at("seed") == "7");
    CHECK(report.at("final_valid_report").contains("big/ppl"));

    const std::string end = " -mf " + model + " --skip-generation";
    auto big = metrics_of("lockstep eval --data " + sets.big + end);
    auto small = metrics_of("lockstep eval --data " + sets.small + end);
    auto macro = metrics_of("lockstep eval" + sets.data() + end);
    auto micro = metrics_of("lockstep eval" + sets.data() + end + " --aggregate-micro");
    CHECK(big.at("ppl") != doctest::Approx(small.at("ppl")));
    for (const auto& [name, value] : big) {
        CAPTURE(name);
        CHECK(macro.at("big/" + name) == value);
        CHECK(macro.at("small/" + name) == small.at(name));
        const bool count = name == "tokens" || name == "examples";
        CHECK(macro.at(name) ==
              doctest::Approx((value + small.at(name)) / (count ? 1 : 2)).epsilon(1e-4));
    }
    const double tokens = big.at("tokens") + small.at("tokens");
    const double loss =
        (big.at("tokens") * big.at("loss") + small.at("tokens") * small.at("loss")) / tokens;
    CHECK(micro.at("loss") == doctest::Approx(loss).epsilon(1e-4));
    CHECK(micro.at("ppl") == doctest::Approx(std::exp(loss)).epsilon(1e-3));
    // The model knows where it comes from.
    CHECK(metrics_of("lockstep eval" + end) == macro);
    const auto limited = metrics_of("lockstep eval" + sets.data() + end + " --num-examples 10");
    CHECK(limited.at("big/examples") == 5);
    CHECK(limited.at("examples") == 10);

    const auto shown = done("display_model -n 2 -mf " + model);
    CHECK(shown.out.find("- - - big ROW 0 - - -\n") != std::string::npos);
    CHECK(shown.out.find("- - - small ROW 0 - - -\n") != std::string::npos);
    const auto one = done("display_model -n 2 -mf " + model + " --data " + sets.big);
    CHECK(one.out.starts_with("- - - ROW 0 - - -\n"));
}

TEST_CASE("--eval-data says which sets are validated") {
    const TwoSets sets;
    const auto run = done("train" + sets.options() + "-mf " + (sets.scratch / "model") +
                          " --max-train-steps 4 --validation-every-n-steps 2 -et " + sets.small);
    CHECK(run.out.find("| examples 8 |") != std::string::npos);
    CHECK(run.out.find("small/") == std::string::npos);
}

TEST_CASE("data sets and weights that do not go together are refused in one line") {
    const TwoSets sets;
    const std::string model = sets.scratch / "model",
                      end = " -mf " + model +
                            " --max-train-steps 3 --n-layers 1 --embedding-size "
                            "16 --ffn-size 16 --threads 1";
    const auto weights = [&](const std::string& words) {
        return "train" + sets.data() + end + " --multitask-weights " + words;
    };
    refused(weights("1"), {"--multitask-weights", "1 weights", "2 data sets"});
    refused("train" + sets.data() + end + " -et " + (sets.scratch / "none"),
            {"--eval-data", "none: no such folder"});
    refused(weights("1,2,3"), {"--multitask-weights", "3 weights", "2 data sets"});
    refused(weights("1 -1"), {"--multitask-weights", "-1", "0 or more"});
    refused(weights("nan 1"), {"--multitask-weights", "nan"});
    refused(weights("0 0"), {"--multitask-weights", "all are 0"});
    refused(weights("1e308 1e308"), {"--multitask-weights", "too large"});
    refused(weights("1,many"), {"--multitask-weights", "many"});
    refused("train --data " + sets.big + " " + sets.small + " " + sets.big + "/." + end,
            {sets.big, "the same data set"});

    prepare("--input " + (sets.scratch / "small.txt") + " --out " + (sets.scratch / "other"));
    refused("train --data " + sets.big + " " + (sets.scratch / "other") + end,
            {sets.big, "other", "dictionaries"});
    prepare("--format text --input " + (sets.scratch / "small.txt") + " --dict-file " + sets.big +
            "/dictionary.txt --out " + (sets.scratch / "plain"));
    refused("train --data " + sets.big + " " + (sets.scratch / "plain") + end,
            {sets.big, "plain", "one kind"});
    prepare("--input " + (sets.scratch / "small.txt") + " --dict-file " + sets.big +
            "/dictionary.txt --out " + (sets.scratch / "unchecked"));
    refused("train --data " + sets.big + " " + (sets.scratch / "unchecked") + end +
                " --validation-every-n-steps 2",
            {"unchecked", "valid", "--eval-data"});
    refused("train --data " + sets.big + "," + sets.small + end, {"big,", "blanks"});
    prepare("--valid " + (sets.scratch / "small.txt") + " --dict-file " + sets.big +
            "/dictionary.txt --out " + (sets.scratch / "untrained"));
    refused("train --data " + sets.big + " " + (sets.scratch / "untrained") + end,
            {"untrained", "no split 'train'"});
    refused("train" + sets.data() + end + " -vmt none/ppl", {"none/ppl", "big, small"});
    refused("train --data " + sets.big + end + " -vmt big/ppl", {"big/ppl"});
    refused("lockstep doctor" + sets.data(), {"--data", "one data set"});
    CHECK_FALSE(fs::exists(model));

    done("train" + sets.data() + end);
    refused(weights("1 2") + " --num-epochs 1",
            {"weight 0.5", "weight 0.6666666666666666", "--init-model"});
    refused("train --data " + sets.big + end, {"weight 0.5", "one data set"});
    done(weights("7,7"));
}
