// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/train/step/exchange.hpp"

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

TEST_CASE("buckets that travel as bf16 lie where fp32 elements were that came before them") {
    using Memory = train::Exchange::Memory;
    const std::vector<train::Bucket> buckets = {
        {0, 10}, {10, 250}, {260, 250}, {510, 250}, {760, 500}};
    const train::Exchange exchange = train::plan_exchange(buckets);
    CHECK(exchange.spare == 10 + 250);
    // held[i] is the bucket that lies at element i of bf16, on the way to the other ranks and back.
    std::vector<int> held(2 * 1260, -1);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        const auto [memory, first] = exchange.places[i];
        if (memory == Memory::spare) continue;
        CHECK(first + buckets[i].count <= 2 * buckets[i].first);  // these are all converted
        for (std::size_t at = first; at < first + buckets[i].count; ++at) {
            CHECK(held[at] == -1);
            held[at] = static_cast<int>(i);
        }
    }
    for (std::size_t i = buckets.size(); i > 0; --i) {
        const auto [first, count] = buckets[i - 1];
        for (std::size_t at = 2 * first; at < 2 * (first + count); ++at) CHECK(held[at] == -1);
        std::replace(held.begin(), held.end(), static_cast<int>(i - 1), -1);
    }
}
