// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/buckets.hpp"

#include <doctest/doctest.h>

using namespace lockstep;

namespace {

constexpr auto apply = train::WeightDecay::apply;

std::vector<std::size_t> counts(const train::ParameterTable& table, std::size_t first_elements,
                                std::size_t elements) {
    train::ReducerOptions options;
    options.first_bucket_bytes = first_elements * sizeof(float);
    options.bucket_bytes = elements * sizeof(float);
    std::vector<std::size_t> result;
    std::size_t covered = 0;
    for (const train::Bucket& bucket : train::plan_buckets(table, options)) {
        CHECK(bucket.first == covered);
        covered += bucket.count;
        result.push_back(bucket.count);
    }
    CHECK(covered == table.flat_size());
    return result;
}

}  // namespace

TEST_CASE("the first bucket is small, the others full, the last block its own") {
    train::ParameterTable table;
    table.add("a", {160}, 0, apply);
    table.add("b", {320}, 1, apply);
    table.add("table", {640}, 2, apply);
    using Counts = std::vector<std::size_t>;
    CHECK(counts(table, 100, 200) == Counts{100, 200, 180, 640});
    CHECK(counts(table, 1000, 2000) == Counts{480, 640});
    CHECK(counts(table, 480, 1).size() == 2);
    CHECK(counts(table, 0, 240) == Counts{1, 240, 239, 640});
}

TEST_CASE("a single block is a single bucket and no parameter is none") {
    train::ParameterTable table;
    CHECK(counts(table, 16, 16).empty());
    table.add("a", {64}, 0, apply);
    CHECK(counts(table, 16, 16) == std::vector<std::size_t>{64});
}
