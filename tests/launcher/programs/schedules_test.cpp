// SPDX-License-Identifier: Apache-2.0
// The learning rates of the program's updates against those of the schedulers of ParlAI,
// transformers and torch for the same options (make_schedules_golden.py).
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Dialogues : ValidatedDialogues {
    Dialogues() : ValidatedDialogues(20) {}

    // Returns the rate of each update of a run with these options.
    std::vector<double> rates(const std::string& options) const {
        std::filesystem::remove_all(model);
        const auto run = run_line("train --data " + data + " -mf " + model +
                                  " --n-layers 1 --embedding-size 8 --ffn-size 8 --n-heads 1"
                                  " --optimizer sgd -bs 4 --text-truncate 8 --label-truncate 4"
                                  " --threads 1 -vp 0 --log-every-n-steps 1 " +
                                  options);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
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
        const auto rates = dialogues.rates(options);
        REQUIRE(rates.size() == expected.size());
        for (std::size_t update = 0; update < rates.size(); ++update) {
            CAPTURE(update);
            CHECK(std::abs(rates[update] - expected[update]) <=
                  1e-6 * std::abs(expected[update]) + 1e-17);
        }
    }
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
    says(run_line(train + " --num-epochs 9 --lr-scheduler cosine"), 2, {"--max-train-steps"});
}
