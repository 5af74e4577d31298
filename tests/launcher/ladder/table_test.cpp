// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/table.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "launcher/ladder/table_json.hpp"
#include "runtime/core/json_text.hpp"

using namespace lockstep;
using namespace lockstep::launcher::ladder;

namespace {

constexpr Work work{.train_rows = 2000, .valid_rows = 100};

Outcome outcome(const std::string& name, Verdict verdict) {
    Outcome outcome;
    outcome.rung.name = name;
    outcome.verdict = verdict;
    return outcome;
}

Outcome run(const std::string& name, Verdict verdict, Measurement measured, double speed_up) {
    Outcome result = outcome(name, verdict);
    result.measured = measured;
    result.speed_up = speed_up;
    return result;
}

Climb example() {
    Climb climb;
    climb.outcomes = {run("baseline", Verdict::kept, {1000, 60, 100, 30, 400}, 1),
                      run("dynamic batching", Verdict::kept, {2000, 28.25, 50, 1, 512.25}, 4.96),
                      run("a rung", Verdict::slower, {2000, 40, 100, 2, 512.25}, 3.57),
                      outcome("another", Verdict::failed),
                      outcome("a third", Verdict::absent),
                      run("--zero 1", Verdict::for_memory,
                          {2000, 40, 100, 2, std::nullopt, std::int64_t{3} << 29}, 3.57)};
    climb.outcomes[3].failure = "train: out of memory";
    climb.outcomes[4].failure = "there is one core";
    climb.fastest.dynamic = data::Dynamic::full;
    climb.speed_up = 4.96;
    return climb;
}

const Subject subject{"gpt2", 1234567, {0, 2, train::Precision::bf16}, 1, 60, 2000};
const std::vector<std::string> command{"train", "--data", "my data"};

}  // namespace

TEST_CASE("a ladder as text") {
    const Climb climb = example();
    std::vector<Rung> rungs;
    for (const Outcome& outcome : climb.outcomes) rungs.push_back(outcome.rung);
    std::string text = heading(subject, rungs);
    for (const Outcome& outcome : climb.outcomes) text += line(outcome, work, rungs);
    text += closing(climb, work, command);
    CHECK("\n" + text == R"(
lockstep ladder: gpt2 of 1,234,567 parameters, 2 cores; 1 x 2,000 rows, at most 60 s of training a rung

                     train s   valid s   total s  speed-up       ppl    memory
  baseline            ~120.0      30.0    ~150.0    1.00 x
  dynamic batching      28.2     ~2.00     ~30.2    4.96 x     512.2
  a rung                40.0      2.00      42.0    3.57 x     512.2            slower here: left out
  another           did not run, left out: train: out of memory
  a third           left out: there is one core
  --zero 1              40.0      2.00      42.0    3.57 x             1.5 GiB  saves memory: not in the fastest

~ extrapolated to all rows from those that the time was enough for

Larger batches are fewer updates of an epoch: choose the learning rate anew.

The fastest, 4.96 x the baseline:
  train --data 'my data'
)");
}

TEST_CASE("a ladder without parts and larger batches needs no remarks") {
    Climb climb;
    climb.outcomes = {run("baseline", Verdict::kept, {2000, 60, 100, 30, 400}, 1)};
    CHECK(closing(climb, work, {"train"}) == "\nThe fastest, 1.00 x the baseline:\n  train\n");
}

TEST_CASE("a ladder as JSON") {
    const auto json = parse_json(table_json(subject, example(), work, command));
    CHECK(json["model"] == "gpt2");
    CHECK(json["parameters"] == 1234567);
    CHECK(json["rungs"].size() == 6);
    CHECK(json["rungs"][5]["verdict"] == "for memory");
    CHECK(json["rungs"][5]["memory_bytes"] == std::int64_t{3} << 29);
    CHECK(json["rungs"][0]["train_s"] == 120);
    CHECK(json["rungs"][0]["measured_train_rows"] == 1000);
    CHECK(json["rungs"][2]["verdict"] == "slower");
    CHECK(json["rungs"][3]["why"] == "train: out of memory");
    CHECK_FALSE(json["rungs"][4].contains("total_s"));
    CHECK(json["fastest"]["command"] == command);
}
