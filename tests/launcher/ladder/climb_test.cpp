// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/climb.hpp"

#include <doctest/doctest.h>

#include <map>

#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::launcher::ladder;

namespace {

constexpr Work work{.train_rows = 100, .valid_rows = 10};

// Rungs that each add one to the number of workers, by which a climb's steps are told apart.
std::vector<Rung> rungs_of(const std::vector<std::string>& names) {
    std::vector<Rung> rungs;
    for (const std::string& name : names)
        rungs.push_back({name, name, [](Settings& settings) { ++settings.num_workers; }, ""});
    return rungs;
}

// Records the runs that were to be measured, and answers them.
struct Runs {
    std::map<std::string, double> train_s;  // none: a failure
    std::map<std::string, std::int64_t> workers = {};
    std::vector<std::string> order = {};

    Attempt operator()(const Settings& settings, const std::string& folder) {
        workers[folder] = settings.num_workers;
        order.push_back(folder);
        if (!train_s.contains(folder)) return {std::nullopt, "out of memory", 0};
        Measurement measured;
        measured.train_rows = 100;
        measured.train_seconds = train_s[folder];
        return {measured, "", 0};
    }
};

Climb climbed(const std::vector<Rung>& rungs, Runs& runs) {
    std::size_t told = 0;
    Climb result = climb(rungs, Settings(), work, std::ref(runs), [&](const Outcome&) { ++told; });
    CHECK(told == rungs.size());
    return result;
}

}  // namespace

TEST_CASE("what is faster is kept, what is slower or fails is left out") {
    std::vector<Rung> rungs = rungs_of({"first", "faster", "absent", "slower", "failing", "last"});
    rungs[2].absent = "no such thing here";
    Runs runs{.train_s = {{"first", 8}, {"faster", 4}, {"slower", 5}, {"last", 2}}};
    const Climb climb = climbed(rungs, runs);
    const std::vector<Verdict> verdicts{Verdict::kept,   Verdict::kept,   Verdict::absent,
                                        Verdict::slower, Verdict::failed, Verdict::kept};
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        CAPTURE(i);
        CHECK(climb.outcomes[i].verdict == verdicts[i]);
    }
    // Each stands on the last that was kept.
    const std::map<std::string, std::int64_t> workers{
        {"first", 1}, {"faster", 2}, {"slower", 3}, {"failing", 3}, {"last", 3}};
    CHECK(runs.workers == workers);
    CHECK(climb.fastest.num_workers == 3);
    CHECK(climb.speed_up == 4);
    CHECK(climb.outcomes[3].speed_up == doctest::Approx(1.6));
    CHECK(climb.outcomes[2].failure == "no such thing here");
    CHECK(climb.outcomes[4].failure == "out of memory");
}

TEST_CASE("a rung that is nearly as fast as the one below is measured once more, in turn with it") {
    Runs runs{.train_s = {{"a", 8},
                          {"b", 8.5},
                          {"b-below", 9},
                          {"b-again", 7.5},
                          {"c", 7.25},
                          {"c-below", 6.5},
                          {"c-again", 7.25}}};
    const Climb climb = climbed(rungs_of({"a", "b", "c"}), runs);
    CHECK(runs.order ==
          std::vector<std::string>{"a", "b", "b-below", "b-again", "c", "c-below", "c-again"});
    CHECK(runs.workers["b-below"] == 1);
    CHECK(runs.workers["b-again"] == 2);
    CHECK(climb.outcomes[1].verdict == Verdict::kept);
    CHECK(climb.outcomes[1].measured->train_seconds == 7.5);
    CHECK(climb.outcomes[1].speed_up == doctest::Approx(8 / 7.5));
    CHECK(climb.outcomes[2].verdict == Verdict::slower);
    CHECK(climb.outcomes[2].speed_up == doctest::Approx(8 / 7.5 * 6.5 / 7.25));
    CHECK(climb.speed_up == doctest::Approx(8 / 7.5));
}

TEST_CASE("without a first rung there is nothing to climb") {
    Runs none;
    CHECK_THROWS_WITH_AS(climbed(rungs_of({"baseline", "next"}), none),
                         "the baseline did not run: out of memory", Error);
    CHECK(none.workers.size() == 1);
}

TEST_CASE("a signal ends the climb") {
    int runs = 0;
    const auto stopped = [&](const Settings&, const std::string&) -> Attempt {
        ++runs;
        return {std::nullopt, "", 15};
    };
    const Climb result =
        climb(rungs_of({"a", "b"}), Settings(), work, stopped, [](const Outcome&) {});
    CHECK(result.signal == 15);
    CHECK(result.outcomes.empty());
    CHECK(runs == 1);
}

TEST_CASE("a rung for memory is measured, and nothing builds on it, however fast it is") {
    std::vector<Rung> rungs = rungs_of({"first", "sharing", "last"});
    rungs[1].purpose = Purpose::memory;
    Runs runs{.train_s = {{"first", 8}, {"sharing", 2}, {"last", 6}}};
    const Climb climb = climbed(rungs, runs);
    CHECK(climb.outcomes[1].verdict == Verdict::for_memory);
    CHECK(climb.outcomes[1].speed_up == doctest::Approx(4));
    CHECK(climb.outcomes[2].verdict == Verdict::kept);
    CHECK(runs.workers["last"] == 2);
    CHECK(climb.speed_up == doctest::Approx(8.0 / 6));
}
