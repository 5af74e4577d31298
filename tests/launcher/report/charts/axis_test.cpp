// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/axis.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "launcher/report/charts/numbers.hpp"

using namespace lockstep::launcher::report;

namespace {

// "0 0.5 1"
std::string ticks(const Axis& axis) {
    std::string text;
    for (const double tick : axis.ticks) text += (text.empty() ? "" : " ") + tick_text(tick);
    return text;
}

}  // namespace

TEST_CASE("axes have round values around what they show") {
    CHECK(ticks(value_axis(Scale::linear, 2.1, 8.7)) == "2 4 6 8 10");
    CHECK(ticks(value_axis(Scale::linear, -3, 4)) == "-4 -2 0 2 4");
    CHECK(ticks(value_axis(Scale::from_zero, 300, 14300)) == "0 5k 10k 15k");
    CHECK(ticks(value_axis(Scale::from_zero, 3e-4, 1e-3)) == "0 2e-4 4e-4 6e-4 8e-4 0.001");
    CHECK(ticks(value_axis(Scale::linear, 0.1, 1 + 1e-7)) == "0 0.2 0.4 0.6 0.8 1");
}

TEST_CASE("logarithmic axes have 1, 2 and 5 of few decades, and powers of ten of many") {
    CHECK(ticks(value_axis(Scale::logarithmic, 12, 180)) == "10 20 50 100 200");
    CHECK(ticks(value_axis(Scale::logarithmic, 55, 90)) == "50 60 70 80 90 100");
    CHECK(ticks(value_axis(Scale::logarithmic, 160, 17e3)) == "100 200 500 1k 2k 5k 10k 20k");
    CHECK(ticks(value_axis(Scale::logarithmic, 3, 2.5e4)) == "10 100 1k 10k");
    CHECK(ticks(value_axis(Scale::logarithmic, 6, 6e3)) == "10 100 1k 10k");
    CHECK(ticks(value_axis(Scale::logarithmic, 6, 3e3)) == "10 100 1k");
    CHECK(ticks(value_axis(Scale::logarithmic, 1, 1e12)) == "1 100 10k 1M 100M 10G 1T");
}

TEST_CASE("a value alone, or 0 alone, has an axis too") {
    for (const Scale scale : {Scale::linear, Scale::from_zero, Scale::logarithmic}) {
        for (const double value : {1e-9, 1.0, 7.0, 1e99}) {
            CAPTURE(value);
            const Axis axis = value_axis(scale, value, value);
            CHECK(axis.share(value) >= -1e-6);
            CHECK(axis.share(value) <= 1 + 1e-6);
            CHECK(axis.low < axis.high);
            CHECK(axis.ticks.size() >= 2);
        }
    }
    CHECK(ticks(value_axis(Scale::from_zero, 0, 0)) == "0 0.2 0.4 0.6 0.8 1");
}

TEST_CASE("the steps begin at 0 and end with the last one") {
    const Axis axis = step_axis(392);
    CHECK(ticks(axis) == "0 100 200 300");
    CHECK(axis.share(0) == 0);
    CHECK(axis.share(392) == 1);
    CHECK(ticks(step_axis(1)) == "0 1");
    CHECK(ticks(axis_until(1)) == "0 0.2 0.4 0.6 0.8 1");
    CHECK(ticks(axis_until(0)) == "0 0.2 0.4 0.6 0.8 1");
    CHECK(ticks(step_axis(1e7)) == "0 2M 4M 6M 8M 10M");
}

TEST_CASE("numbers are short, and counts have commas") {
    CHECK(number_text(0.123456) == "0.1235");
    CHECK(number_text(3.2e-5) == "3.2e-5");
    CHECK(number_text(999.99) == "1,000");
    CHECK(number_text(-13222.4) == "-13,222");
    CHECK(number_text(1e20) == "1e20");
    CHECK(tick_text(-0.00025) == "-2.5e-4");
    CHECK(tick_text(2e-12) == "2e-12");
    CHECK(tick_text(0.25) == "0.25");
    CHECK(percent_text(0.3421) == "34.2 %");
    CHECK(percent_text(1) == "100 %");
    CHECK(percent_text(0) == "0 %");
    CHECK(coordinate(12.34) == "12.3");
    CHECK(coordinate(-0.01) == "0");
    CHECK(number_of("1.5") == 1.5);
    CHECK_FALSE(number_of("1.5x"));
    CHECK_FALSE(number_of(""));
}
