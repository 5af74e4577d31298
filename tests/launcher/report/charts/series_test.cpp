// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/series.hpp"

#include <doctest/doctest.h>

using namespace lockstep::launcher::report;

namespace {

void check_bin(const Bin& bin, double first_x, double last_x, std::int64_t values, double low,
               double mean, double high) {
    CHECK(bin.first_x == first_x);
    CHECK(bin.last_x == last_x);
    CHECK(bin.values == values);
    if (values == 0) return;
    CHECK(bin.low == low);
    CHECK(bin.mean() == mean);
    CHECK(bin.high == high);
}

}  // namespace

TEST_CASE("as long as there is room every point is a bin") {
    Series series(4);
    series.add(10, 1);
    series.add(20, 3);
    series.add(30, Series::none);
    series.add(40, 5);
    REQUIRE(series.bins().size() == 4);
    check_bin(series.bins()[0], 10, 10, 1, 1, 1, 1);
    check_bin(series.bins()[2], 30, 30, 0, 0, 0, 0);
    check_bin(series.bins()[3], 40, 40, 1, 5, 5, 5);
}

TEST_CASE("neighbours are merged where bins are full, and hold twice as many points afterwards") {
    Series series(4);
    const double values[] = {1, 3, Series::none, 5, 7, Series::none, 9, 11, 13};
    for (int i = 0; i < 5; ++i) series.add(i + 1, values[i]);
    REQUIRE(series.bins().size() == 3);
    check_bin(series.bins()[0], 1, 2, 2, 1, 2, 3);
    check_bin(series.bins()[1], 3, 4, 1, 5, 5, 5);  // the gap beside it does not count
    check_bin(series.bins()[2], 5, 5, 1, 7, 7, 7);
    for (int i = 5; i < 9; ++i) series.add(i + 1, values[i]);
    REQUIRE(series.bins().size() == 3);
    check_bin(series.bins()[0], 1, 4, 3, 1, 3, 5);
    check_bin(series.bins()[1], 5, 8, 3, 7, 9, 11);
    check_bin(series.bins()[2], 9, 9, 1, 13, 13, 13);
}

TEST_CASE("what a series says in all does not depend on its bins") {
    Series few(2), many(1000);
    for (int i = 1; i <= 999; ++i) {
        const double value = i % 10 == 0 ? Series::none : i % 7;
        few.add(i, value);
        many.add(i, value);
    }
    CHECK(few.bins().size() <= 2);
    CHECK(many.bins().size() == 999);
    for (const Series* series : {&few, &many}) {
        CHECK(series->values() == 900);
        CHECK(series->low() == 0);
        CHECK(series->high() == 6);
        CHECK(series->last() == 5);
        CHECK(series->total() == many.total());
    }
}

TEST_CASE("the median is that of the values, between two of an even number") {
    Series series(10);
    for (const double value : {5.0, 1.0, Series::none, 100.0}) series.add(1, value);
    CHECK(series.median() == 5);
    series.add(2, 7);
    CHECK(series.median() == 6);
}
