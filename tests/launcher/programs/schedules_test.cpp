// SPDX-License-Identifier: Apache-2.0
// The learning rates of the program's updates against those of the schedulers of ParlAI,
// transformers and torch for the same options (make_schedules_golden.py), also where epochs tell
// the number of updates (make_epoch_schedules_golden.py).
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Dialogues : ValidatedDialogues {
    explicit Dialogues(int lines = 20) : ValidatedDialogues(lines) {}

    // Returns the rate of each update of a run with these options.
    std::vector<double> rates(const std::string& options,
                              const std::string& program = "train") const {
        std::filesystem::remove_all(model);
        done(program + " --data " + data +
             " --n-layers 1 --embedding-size 8 --ffn-size 8 --n-heads 1"
             " --optimizer sgd -bs 4 --text-truncate 8 --label-truncate 4"
             " --threads 1 -vp 0 --log-every-n-steps 1 " +
             options);
        return recorded();
    }

    std::string done(const std::string& line) const {
        const auto run = run_line(line + " -mf " + model);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        return run.out;
    }

    std::vector<double> recorded() const {
        std::vector<double> values;
        for (const auto& line : train_metrics(model)) values.push_back(line.at("lr"));
        return values;
    }
};

// After a warm-up ParlAI's curves are one update ahead, and its other schedulers stay at the share
// of the rate that the last update of the warm-up had.
std::vector<double> without_parlais_warmup_end(std::vector<double> rates, std::size_t warmup,
                                               double learningrate, bool curve) {
    if (curve) {
        rates.insert(rates.begin() + static_cast<std::ptrdiff_t>(warmup), learningrate);
        rates.pop_back();
        return rates;
    }
    const double share = rates[warmup] / learningrate;
    for (std::size_t i = warmup; i < rates.size(); ++i) rates[i] /= share;
    return rates;
}

// The word behind `name`, or nothing.
std::string value_of(const std::string& options, const std::string& name) {
    std::istringstream words(options);
    for (std::string word; words >> word;)
        if (word == name) {
            words >> word;
            return word;
        }
    return "";
}

void check_rates(const std::vector<double>& rates, const std::vector<double>& expected) {
    REQUIRE(rates.size() == expected.size());
    for (std::size_t update = 0; update < rates.size(); ++update) {
        CAPTURE(update);
        CHECK(std::abs(rates[update] - expected[update]) <=
              1e-6 * std::abs(expected[update]) + 1e-17);
    }
}

}  // namespace

TEST_CASE("every update has the learning rate of the schedule's namesake") {
    const Dialogues dialogues;
    const auto golden = nlohmann::json::parse(read_text("tests/golden/training/schedules.json"));
    REQUIRE(golden.size() == 17);
    for (const auto& schedule : golden) {
        const std::string options = schedule.at("options");
        CAPTURE(options);
        auto expected = schedule.at("rates").get<std::vector<double>>();
        const std::string warmup = value_of(options, "--warmup-updates");
        const std::string kind = value_of(options, "--lr-scheduler");
        if (schedule.at("namesake") == "parlai" && !warmup.empty())
            expected = without_parlais_warmup_end(expected, std::stoul(warmup),
                                                  std::stod(value_of(options, "-lr")),
                                                  kind == "linear" || kind == "invsqrt");
        check_rates(dialogues.rates(options), expected);
    }
}

TEST_CASE(
    "epochs tell a schedule its end, and a share of the run its warm-up, as in transformers") {
    const Dialogues dialogues;
    const auto golden =
        nlohmann::json::parse(read_text("tests/golden/training/epoch_schedules.json"));
    REQUIRE(golden.size() == 13);
    for (const auto& schedule : golden) {
        const std::string options = schedule.at("options");
        CAPTURE(options);
        check_rates(dialogues.rates(options), schedule.at("rates").get<std::vector<double>>());
    }
}

TEST_CASE("the updates of epochs are counted exactly, whatever makes the batches") {
    const Dialogues dialogues(90);
    for (const std::string options :
         {"--num-epochs 5 -dynb full", "--num-epochs 5 -dynb batchsort --update-freq 3",
          "--num-epochs 5 -dynb full --logical-shards 3", "--num-epochs 2.3 -dynb full",
          "--num-epochs 0.4 -dynb full --update-freq 2", "--num-epochs 1.99 -dynb batchsort"}) {
        CAPTURE(options);
        const auto rates = dialogues.rates("-lr 1 --lr-scheduler linear " + options);
        // The first two rates of a line tell its length.
        REQUIRE(rates.size() > 2);
        const double counted = 1 / (rates[0] - rates[1]);
        CHECK(rates.size() == static_cast<std::size_t>(std::llround(counted)));
    }
}

TEST_CASE("the updates of epochs are those of transformers for any number of ranks") {
    const Dialogues dialogues;
    const std::string options = "-lr 1 --lr-scheduler linear --num-epochs 3";
    const auto line = [](std::size_t updates) {
        std::vector<double> rates;
        for (std::size_t i = 0; i < updates; ++i)
            rates.push_back(1 - static_cast<double>(i) / static_cast<double>(updates));
        return rates;
    };
    // An epoch has 5 micro-batches on one rank; ceil(5 / 2) and ceil(5 / 3) updates an epoch.
    check_rates(dialogues.rates(options + " --update-freq 2"), line(9));
    check_rates(dialogues.rates(options + " --update-freq 3"), line(6));
    const std::string three = "multiprocessing_train --distributed-world-size 3";
    check_rates(dialogues.rates(options, three), line(6));
}

TEST_CASE("a schedule ends with --max-train-steps also if the epochs end before") {
    const Dialogues dialogues;
    const auto rates =
        dialogues.rates("-lr 1 --lr-scheduler linear --num-epochs 1 --max-train-steps 10");
    check_rates(rates, {1, 0.9, 0.8, 0.7, 0.6});
    const auto share = dialogues.rates(
        "-lr 1 --lr-scheduler fixed --lr-scheduler-decay 1 --warmup-rate 0 --warmup-ratio 0.3"
        " --num-epochs 1 --max-train-steps 10");
    check_rates(share, {0, 1.0 / 3, 2.0 / 3, 1, 1});
}

TEST_CASE("after other batches a schedule ends with the epochs that are left") {
    const Dialogues dialogues;
    const auto rest = [](std::vector<double> rates, std::size_t from, double updates) {
        for (; from < static_cast<std::size_t>(updates); ++from)
            rates.push_back(1 - static_cast<double>(from) / updates);
        return rates;
    };
    const auto whole = dialogues.rates(
        "-lr 1 --lr-scheduler linear --num-epochs 2 --save-every-n-steps 8 --keep 99");
    REQUIRE(whole.size() == 10);
    // Four epochs of two updates are left.
    const std::string said = dialogues.done("train --num-epochs 6 -bs 10 --save-every-n-steps 1");
    CHECK_MESSAGE(
        said.find("schedule has 18 updates, to the end of --num-epochs 6") != std::string::npos,
        said);
    check_rates(dialogues.recorded(), rest(whole, 10, 18));
    // The same end is found wherever the run is continued, also on other ranks.
    const std::string checkpoints = dialogues.model + "/checkpoints/step-000000";
    for (const std::string last : {"18", "17", "16", "15", "14"})
        REQUIRE(std::filesystem::remove_all(checkpoints + last) > 0);
    dialogues.done("multiprocessing_train --distributed-world-size 2");
    check_rates(dialogues.recorded(), rest(whole, 10, 18));
    // In the middle of an epoch: 12 of 20 rows are used.
    for (int last = 9; last <= 18; ++last)
        std::filesystem::remove_all(checkpoints + (last < 10 ? "0" : "") + std::to_string(last));
    dialogues.done("train --num-epochs 3 -bs 10");
    check_rates(dialogues.recorded(),
                rest(std::vector<double>(whole.begin(), whole.begin() + 8), 8, 11));
}

TEST_CASE("a continued run has the same end of its schedule, and a changed one is told") {
    const Dialogues dialogues;
    const std::string options =
        "-lr 0.5 --lr-scheduler cosine --warmup-ratio 0.2 --num-epochs 2 --save-every-n-steps 4"
        " --keep 9";
    const auto whole = dialogues.rates(options);
    REQUIRE(whole.size() == 10);
    const std::string checkpoints = dialogues.model + "/checkpoints/";
    for (const std::string later : {"step-00000008", "step-00000010"})
        REQUIRE(std::filesystem::remove_all(checkpoints + later) > 0);
    const std::string said = dialogues.done("multiprocessing_train --distributed-world-size 2");
    CHECK_MESSAGE(
        said.find("schedule has 10 updates, to the end of --num-epochs 2, 2 of them a warm-up") !=
            std::string::npos,
        said);
    check_rates(dialogues.recorded(), whole);

    const std::string longer = dialogues.done("train --num-epochs 4 --lr-scheduler linear");
    for (const std::string part : {"--num-epochs 4 instead of 2", "schedule has 20 updates"})
        CHECK_MESSAGE(longer.find(part) != std::string::npos, longer);
    const auto rates = dialogues.recorded();
    REQUIRE(rates.size() == 20);
    // The warm-up has 4 updates now.
    CHECK(rates[10] == doctest::Approx(0.5 * 10 / 16));
    CHECK(rates.back() == doctest::Approx(0.5 / 16));

    // A given number of updates takes the place of the share.
    CHECK(dialogues.done("train --num-epochs 5 --warmup-updates 5")
              .find("schedule has 25 updates, to the end of --num-epochs 5, 5 of them a warm-up") !=
          std::string::npos);
    CHECK(dialogues.recorded()[20] == doctest::Approx(0.5 * 5 / 20));
}

TEST_CASE("linear and cosine would be 0 at the update after the last, with a warm-up as without") {
    const Dialogues dialogues;
    for (const std::string kind : {"linear", "cosine"}) {
        for (const std::string warmup : {"0", "20"}) {
            CAPTURE(kind);
            CAPTURE(warmup);
            const auto rates =
                dialogues.rates("-lr 1 --lr-scheduler " + kind + " --warmup-updates " + warmup +
                                " --max-train-steps 60");
            REQUIRE(rates.size() == 60);
            CHECK(rates.back() > 0);
            CHECK(rates.back() < 0.03);
        }
    }
}

TEST_CASE("ParlAI's words for off are understood; what none leaves out is not asked for") {
    const Dialogues dialogues;
    const auto rates = dialogues.rates(
        "-lr 0.1 --lr-scheduler none -dynb none --eval-dynamic-batching none --max-train-steps 2");
    CHECK(rates == std::vector<double>(2, rates.front()));
    const std::string train = "train --data " + dialogues.data + " -mf " + dialogues.model;
    says(run_line(train + " --max-train-steps 9 --lr-scheduler none --warmup-updates 3"), 2,
         {"--warmup-updates contradicts --lr-scheduler none"});
    says(run_line(train + " --max-train-steps 9 --lr-scheduler linear --warmup-updates 9"), 2,
         {"--warmup-updates 9 leaves no update for --lr-scheduler linear"});
    says(run_line(train + " --max-train-time 9 --lr-scheduler cosine"), 2,
         {"--lr-scheduler cosine needs to know when the rate ends: add --num-epochs or "
          "--max-train-steps"});
    const std::string other = dialogues.model + "-other";
    says(run_line("train --data " + dialogues.data + " -mf " + other +
                  " -bs 20 --num-epochs 3 --lr-scheduler linear --warmup-updates 3"),
         2, {"--warmup-updates 3 leaves no update for --lr-scheduler linear: the run has only 3"});
    CHECK_FALSE(std::filesystem::exists(other));
}

TEST_CASE("a warm-up that is a share of nothing, or contradicts another option, is refused") {
    const Dialogues dialogues;
    const std::string train = "train --data " + dialogues.data + " -mf " + dialogues.model + " ";
    const std::string steps = "--max-train-steps 9 ", ratio = "--warmup-ratio 0.1 ";
    says(run_line(train + steps + ratio + "--warmup-updates 3"), 2,
         {"--warmup-ratio contradicts --warmup-updates; leave one out"});
    says(run_line(train + steps + ratio + "--lr-scheduler none"), 2,
         {"--warmup-ratio contradicts --lr-scheduler none"});
    says(run_line(train + ratio + "--max-train-time 9"), 2,
         {"--warmup-ratio 0.1: is a share of the run's updates", "add --num-epochs"});
    says(run_line(train + "--max-train-steps 1 " + ratio), 2,
         {"--warmup-ratio 0.1: leaves no update after the warm-up, for the run has 1"});
    says(run_line(train + "-bs 20 --num-epochs 1 " + ratio), 2, {"leaves no update"});
    for (const std::string wrong : {"1", "-0.5", "1.5", "nan"})
        says(run_line(train + steps + "--warmup-ratio " + wrong), 2,
             {"--warmup-ratio: '" + wrong + "'"});
    says(run_line(train + steps + ratio + "--optimizer adafactor --adafactor-relative-step"), 2,
         {"--adafactor-relative-step contradicts --warmup-ratio"});
    CHECK_FALSE(std::filesystem::exists(dialogues.model));
}
