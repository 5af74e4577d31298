// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/epoch_share.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace lockstep;
using train::epochs_at;
using train::EpochShare;
using train::rows_at;

TEST_CASE("a share of an epoch is a decimal, complete with the row that brings it to its end") {
    CHECK(EpochShare(1.36).rows(25) == 34);  // 1.36 * 25 is 34.000000000000004 for some compilers
    CHECK(EpochShare(0.07).rows(100) == 7);  // a product of doubles gives 7.000000000000001
    CHECK(EpochShare(0.1).rows(40) == 4);
    CHECK(EpochShare(2).rows(40) == 80);
    CHECK(EpochShare(0.333).rows(10) == 4);  // 3.33
    CHECK(EpochShare(0.333).rows(1000) == 333);
    CHECK(EpochShare(1e-9).rows(40) == 1);
    CHECK(EpochShare(1e-9).rows(3'000'000'000) == 3);
    CHECK(EpochShare(1'234'567.8).rows(10) == 12'345'678);
    CHECK(EpochShare(1e300).rows(1'000'000) > 1'000'000'000'000'000);
    CHECK(EpochShare(1e-300).rows(1'000'000) == 1);
    CHECK_FALSE(EpochShare(0).given());
    CHECK_FALSE(EpochShare(-1).given());
}

TEST_CASE("a fraction with cut digits is complete with the row that is meant") {
    for (const double third : {1.0 / 3, 0.33333, 0.333333333, 0.3333334}) {
        CAPTURE(third);
        CHECK(EpochShare(third).rows(30) == 10);
    }
    for (const double part : {2.0 / 3, 0.66667, 0.6666667, 0.66666666666666667}) {
        CAPTURE(part);
        CHECK(EpochShare(part).rows(30) == 20);
        CHECK(EpochShare(part).completed(60, 30) == 3);
    }
    CHECK(EpochShare(0.667).rows(30) == 21);  // 20.01
}

TEST_CASE("a row completes the shares that it comes to the end of") {
    const EpochShare tenth(0.1);
    std::vector<std::int64_t> completed;
    for (std::int64_t rows = 4; rows <= 80; rows += 4)
        completed.push_back(tenth.completed(rows, 40));
    std::vector<std::int64_t> expected(20);
    std::iota(expected.begin(), expected.end(), 1);
    CHECK(completed == expected);
    CHECK(tenth.completed(3, 40) == 0);
    CHECK(tenth.completed(15, 40) == 3);
    CHECK(EpochShare(1.36).completed(33, 25) == 0);
    CHECK(EpochShare(1.36).completed(34, 25) == 1);
}

TEST_CASE("E epochs complete floor(E / F) shares F, and no row more than one, if F has a row") {
    for (std::int64_t q : {1, 2, 4, 5, 8, 10, 16, 20, 25, 50, 100, 1000})
        for (std::int64_t p = 1; p <= 2 * q; p += 1 + q / 7)
            for (std::int64_t rows : {7, 40, 397, 1000, 65'537}) {
                if (p * rows < q) continue;
                const EpochShare share(static_cast<double>(p) / static_cast<double>(q));
                CAPTURE(p);
                CAPTURE(q);
                CAPTURE(rows);
                for (std::int64_t epochs : {1, 2, 3, 1000})
                    CHECK(share.completed(epochs * rows, rows) == epochs * q / p);
                CHECK(share.rows(rows) == (p * rows + q - 1) / q);
                CHECK(share.completed(share.rows(rows), rows) == 1);
                CHECK(share.completed(share.rows(rows) - 1, rows) == 0);
            }
}

TEST_CASE("rows that a run has trained on are found again from its number of epochs") {
    for (const std::int64_t rows : {1, 3, 25, 397, 1'000'003}) {
        for (const std::int64_t epoch : {0, 1, 2, 999, 1'000'000}) {
            for (std::int64_t row = 0; row < rows; row += 1 + rows / 50) {
                const double epochs = epochs_at({epoch, 1, row}, rows);
                if (rows_at(epochs, rows) != epoch * rows + row)
                    FAIL_CHECK(rows << " rows, epoch " << epoch << ", row " << row);
            }
        }
    }
    // All rows are used, but not all lanes have ended.
    CHECK(epochs_at({2, 5, 40}, 40) < 3);
    CHECK(rows_at(epochs_at({2, 5, 40}, 40), 40) == 119);
    CHECK(epochs_at({0, 29, 29}, 100) == 0.29);
    CHECK(epochs_at({2, 29, 29}, 100) == 2.29);
    CHECK(rows_at(0x1p40, std::int64_t{1} << 40) > 0);
}
