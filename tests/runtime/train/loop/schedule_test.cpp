// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/schedule.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

using namespace lockstep;
using train::Schedule;
using train::ScheduleKind;
using train::ScheduleOptions;

namespace {

using Table = std::vector<std::pair<std::int64_t, double>>;

void check_rates(const Schedule& schedule, const Table& table) {
    for (const auto& [updates, rate] : table) {
        CAPTURE(updates);
        CHECK(schedule.rate(updates) == doctest::Approx(rate).epsilon(1e-12));
    }
}

ScheduleOptions options_of(ScheduleKind kind, std::int64_t warmup) {
    ScheduleOptions options;
    options.kind = kind;
    options.warmup_updates = warmup;
    options.warmup_rate = 0.1;
    return options;
}

}  // namespace

TEST_CASE("the warm-up is linear from warmup_rate * lr to lr") {
    const Schedule schedule(options_of(ScheduleKind::fixed, 10), 2.0, -1);
    check_rates(schedule, {{0, 0.2}, {1, 0.38}, {5, 1.1}, {9, 1.82}, {10, 2.0}, {1000, 2.0}});
}

TEST_CASE("linear and cosine fall to 0 at the end of the run and stay there") {
    const Schedule linear(options_of(ScheduleKind::linear, 10), 1.0, 110);
    check_rates(linear, {{5, 0.55}, {10, 1.0}, {35, 0.75}, {60, 0.5}, {110, 0.0}, {200, 0.0}});
    const Schedule cosine(options_of(ScheduleKind::cosine, -1), 4.0, 100);
    check_rates(cosine, {{0, 4.0}, {50, 2.0}, {100, 0.0}, {101, 0.0}});
    CHECK(cosine.rate(25) == doctest::Approx(2 + std::sqrt(2.0)));
    CHECK(cosine.rate(75) == doctest::Approx(2 - std::sqrt(2.0)));
}

TEST_CASE("linear, cosine and wsd fall to the lowest rate and stay there") {
    auto linear = options_of(ScheduleKind::linear, 10);
    linear.min_learningrate = 0.2;
    check_rates(Schedule(linear, 1.0, 110),
                {{5, 0.55}, {10, 1.0}, {60, 0.6}, {110, 0.2}, {200, 0.2}});
    auto cosine = options_of(ScheduleKind::cosine, -1);
    cosine.min_learningrate = 2;
    check_rates(Schedule(cosine, 4.0, 100), {{0, 4.0}, {50, 3.0}, {100, 2.0}, {101, 2.0}});
    auto wsd = options_of(ScheduleKind::wsd, -1);
    wsd.min_learningrate = 1;
    wsd.decay_ratio = 0.2;
    check_rates(Schedule(wsd, 2.0, 100), {{79, 2.0}, {90, 1.5}, {100, 1.0}, {110, 1.0}});
    cosine.min_learningrate = 4.5;
    CHECK_THROWS_WITH_AS(Schedule(cosine, 4.0, 100), doctest::Contains("--min-lr is above"), Error);
    cosine.min_learningrate = 4;
    check_rates(Schedule(cosine, 4.0, 100), {{0, 4.0}, {50, 4.0}, {100, 4.0}});
}

TEST_CASE("wsd stays at the full rate until its last updates") {
    auto options = options_of(ScheduleKind::wsd, 10);
    options.decay_ratio = 0.2;
    const Schedule wsd(options, 2.0, 100);
    check_rates(wsd, {{5, 1.1}, {10, 2.0}, {79, 2.0}, {80, 2.0}, {90, 1.0}, {100, 0}, {110, 0}});
    options.decay_ratio = 1;
    CHECK_THROWS_WITH_AS(Schedule(options, 2.0, 100), doctest::Contains("leaves 90 of 100"), Error);
    options.decay_ratio = 1e300;
    CHECK_THROWS_WITH_AS(Schedule(options, 2.0, 100), doctest::Contains("at most 1"), Error);
    options.decay_ratio = 0;
    check_rates(Schedule(options, 2.0, 100), {{50, 2.0}, {99, 2.0}, {100, 0}});
}

TEST_CASE("fixed decays after every so many validations") {
    auto options = options_of(ScheduleKind::fixed, 2);
    options.lr_scheduler_patience = 2;
    Schedule schedule(options, 1.0, -1);
    schedule.validated(1, 5.0);  // does not count during warm-up
    for (const double expected : {1.0, 0.5, 0.5, 0.25}) {
        schedule.validated(10, 5.0);
        CHECK(schedule.rate(10) == doctest::Approx(expected));
    }
}

TEST_CASE("reduceonplateau decays when patience is over, and again") {
    auto options = options_of(ScheduleKind::reduceonplateau, -1);
    options.lr_scheduler_patience = 1;
    Schedule schedule(options, 1.0, -1);
    // A loss that is less than a ten-thousandth better does not count as better.
    const std::vector<std::pair<double, double>> losses_and_rates = {
        {5.0, 1.0},  {4.9999, 1.0}, {5.1, 0.5},  {4.0, 0.5},           {4.1, 0.5},
        {4.2, 0.25}, {4.3, 0.25},   {3.0, 0.25}, {std::nan(""), 0.25}, {std::nan(""), 0.125}};
    for (const auto& [loss, rate] : losses_and_rates) {
        schedule.validated(100, loss);
        CAPTURE(loss);
        CHECK(schedule.rate(100) == doctest::Approx(rate));
    }

    Schedule continued(options, 1.0, -1);
    continued.restore(schedule.state());
    continued.validated(100, 3.5);
    schedule.validated(100, 3.5);
    CHECK(continued.rate(100) == schedule.rate(100));
    CHECK(continued.state().bad_validations == schedule.state().bad_validations);
}

TEST_CASE("a curve without an end is refused") {
    CHECK_THROWS_WITH_AS(Schedule(options_of(ScheduleKind::cosine, -1), 1.0, -1),
                         doctest::Contains("add --num-epochs or --max-train-steps"), Error);
    CHECK_THROWS_WITH_AS(Schedule(options_of(ScheduleKind::linear, 50), 1.0, 50),
                         doctest::Contains("--warmup-updates 50"), Error);
}
