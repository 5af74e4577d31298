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
    table.add("a", {256}, 0, apply);
    table.add("b", {512}, 1, apply);
    table.add("table", {768}, 2, apply);
    using Counts = std::vector<std::size_t>;
    CHECK(counts(table, 100, 400) == Counts{100, 400, 268, 768});
    CHECK(counts(table, 1000, 2000) == Counts{768, 768});
    CHECK(counts(table, 768, 1).size() == 2);
    CHECK(counts(table, 0, 384) == Counts{1, 384, 383, 768});
}

TEST_CASE("a single block is a single bucket and no parameter is none") {
    train::ParameterTable table;
    CHECK(counts(table, 16, 16).empty());
    table.add("a", {256}, 0, apply);
    CHECK(counts(table, 16, 16) == std::vector<std::size_t>{256});
}

TEST_CASE("buckets that travel as bf16 lie where fp32 elements were that were sent before them") {
    using Memory = train::Exchange::Memory;
    using Order = train::BucketOrder;
    const std::vector<train::Bucket> buckets = {
        {0, 10}, {10, 250}, {260, 250}, {510, 250}, {760, 200}};
    for (const auto order : {Order::front_to_back, Order::last_one_first}) {
        const train::Exchange exchange = train::plan_exchange(buckets, order);
        CHECK(exchange.spare == (order == Order::front_to_back ? 10 + 250 : 200));
        std::vector<std::size_t> sent = {0, 1, 2, 3, 4};
        if (order == Order::last_one_first) sent = {4, 0, 1, 2, 3};
        // These tell for each element of bf16 which bucket lies there, and whether it is converted.
        std::vector<int> held(2 * 960, -1);
        std::vector<char> converted(2 * 960);
        for (const std::size_t bucket : sent) {
            const auto [memory, first] = exchange.places[bucket];
            const auto [begin, count] = buckets[bucket];
            for (std::size_t at = first; memory == Memory::gradient && at < first + count; ++at) {
                CHECK(held[at] == -1);
                CHECK(converted[at] == 1);
                held[at] = static_cast<int>(bucket);
            }
            std::fill_n(converted.begin() + static_cast<std::ptrdiff_t>(2 * begin), 2 * count, 1);
        }
        for (; !sent.empty(); sent.pop_back()) {
            const auto [first, count] = buckets[sent.back()];
            for (std::size_t at = 2 * first; at < 2 * (first + count); ++at) CHECK(held[at] == -1);
            std::replace(held.begin(), held.end(), static_cast<int>(sent.back()), -1);
        }
    }
}

TEST_CASE("memory for buckets that travel as bf16 is enough for either order") {
    const std::vector<train::Bucket> buckets = {{0, 10}, {10, 250}, {260, 500}};
    train::ReducerOptions options;
    CHECK(train::exchange_spare(buckets, options) == 260);
    options.table_sum = train::TableSum::in_parts;
    CHECK(train::exchange_spare(buckets, options) == 500);
}
