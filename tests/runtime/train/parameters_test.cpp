// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/parameters.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/core/error.hpp"

using namespace lockstep;
using train::ParameterTable;
using train::Precision;
using train::WeightDecay;

namespace {

ParameterTable two_parameters() {
    ParameterTable table;
    table.add("w", {3, 7}, 0, WeightDecay::apply);
    table.add("b", {5}, 1, WeightDecay::skip);
    return table;
}

}  // namespace

TEST_CASE("parameters lie one after another, each at a multiple of 256") {
    const auto table = two_parameters();
    CHECK(table[0].offset == 0);
    CHECK(table[0].count == 21);
    CHECK(table[1].offset == 256);
    CHECK(table.flat_size() == 512);
    CHECK(table.count() == 26);
    CHECK(table.find("b")->shape == std::vector<std::int64_t>{5});
    CHECK(table.find("c") == nullptr);
}

TEST_CASE("a parameter of a whole number of grains leaves no gap, and one element more does") {
    ParameterTable table;
    table.add("whole", {2, 256}, 0, WeightDecay::apply);
    table.add("more", {257}, 0, WeightDecay::apply);
    table.add("last", {1}, 0, WeightDecay::apply);
    CHECK(table[1].offset == 512);
    CHECK(table[2].offset == 1024);
    CHECK(table.flat_size() == 1280);
}

TEST_CASE("padding begins and ends each block where the ranks' parts do") {
    ParameterTable table;
    table.add("a", {257}, 0, WeightDecay::apply);
    table.add("b", {1}, 0, WeightDecay::apply);
    table.add("t", {300}, 1, WeightDecay::apply);
    table.add("u", {1}, 1, WeightDecay::apply);
    CHECK(table.padded_for() == 1);
    table.pad_for(4);
    CHECK(table.padded_for() == 4);
    CHECK(table[1].offset == 512);
    CHECK(table[2].offset == 1024);
    CHECK(table[3].offset == 1536);
    CHECK(table.flat_size() == 2048);
    CHECK(table.count() == 559);
    CHECK_THROWS_AS(table.pad_for(4), Error);
    CHECK_THROWS_AS(table.add("v", {1}, 1, WeightDecay::apply), Error);
}

TEST_CASE("a store of a shared replica packs the master that it owns, unless it computes with it") {
    ParameterTable table;
    table.add("a", {512}, 0, WeightDecay::apply);
    table.add("t", {1024}, 1, WeightDecay::apply);
    table.pad_for(2);
    const std::vector<train::OwnedPart> owned{{256, 256, 0}, {1024, 512, 256}};
    const train::ParameterStore<HostSpace> half(table, Precision::bf16, train::Master::kept, owned);
    CHECK(half.has_packed_master());
    CHECK(half.packed_size() == 768);
    CHECK(half.master().size() == 768);
    CHECK(half.master(owned[1]).data() == half.master().data() + 256);
    CHECK(half.kept_bytes().size() == 2 * table.flat_size());
    const train::ParameterStore<HostSpace> fp32(table, Precision::fp32, train::Master::kept, owned);
    CHECK_FALSE(fp32.has_packed_master());
    CHECK(fp32.master().size() == table.flat_size());
    CHECK(fp32.master(owned[1]).data() == fp32.master().data() + 1024);
}

TEST_CASE("stages 2 and 3 keep two slots and the last block in memory, and what the rank owns") {
    ParameterTable table;
    for (int block = 0; block < 3; ++block)
        table.add("b" + std::to_string(block), {512}, block, WeightDecay::apply);
    table.add("t", {1024}, 3, WeightDecay::apply);
    table.pad_for(2);
    table.share_among(2, 3);
    CHECK(table.stage() == 3);
    const std::vector<train::Segment> segments{{0, 512}, {512, 512}, {1024, 512}, {1536, 1024}};
    std::vector<train::OwnedPart> owned;
    std::size_t packed = 0;
    for (const train::Segment& segment : segments) {
        owned.push_back({segment.first, segment.count / 2, packed});
        packed += segment.count / 2;
    }
    for (const auto precision : {Precision::fp32, Precision::bf16}) {
        const train::ParameterStore<HostSpace> store(table, precision, train::Master::kept, owned,
                                                     segments);
        CHECK(store.gradient().size() == 2048);
        CHECK(store.gradient_sums().size() == 1280);
        CHECK(store.master().size() == 1280);
        CHECK(store.weight_placement().size() == 2048);
        CHECK(store.gradient(1024, 512).data() == store.gradient(0, 512).data());
        CHECK(store.gradient(512, 512).data() == store.gradient().data() + 512);
        CHECK(store.gradient(1536, 1024).data() == store.gradient().data() + 1024);
        CHECK(store.gradient_sum(owned[3]).data() == store.gradient_sums().data() + 768);
        CHECK(store.kept_bytes().empty());
        CHECK_THROWS_AS(store.gradient(500, 100), Error);
    }
    table.share_among(2, 2);
    const train::ParameterStore<HostSpace> second(table, Precision::bf16, train::Master::kept,
                                                  owned, segments);
    CHECK(second.compute<bf16>().size() == table.flat_size());
    CHECK(second.gradient().size() == 2048);
    CHECK(second.has_packed_master());
    table.share_among(1, 2);
    CHECK(table.stage() == 0);
}

TEST_CASE("a table refuses double names, empty shapes and blocks out of order") {
    auto table = two_parameters();
    CHECK_THROWS_AS(table.add("w", {1}, 1, WeightDecay::apply), Error);
    CHECK_THROWS_AS(table.add("c", {2, 0}, 1, WeightDecay::apply), Error);
    CHECK_THROWS_AS(table.add("c", {2}, 0, WeightDecay::apply), Error);
    CHECK_THROWS_AS(table.add("c", {2}, 3, WeightDecay::apply), Error);
    CHECK(table.all().size() == 2);
    CHECK_NOTHROW(table.add("c", {2}, 2, WeightDecay::apply));
}

TEST_CASE("a store computes in its own precision and begins at zero") {
    const auto table = two_parameters();
    const train::ParameterStore<HostSpace> fp32(table, Precision::fp32);
    CHECK(fp32.compute<float>().data() == fp32.master().data());
    CHECK_THROWS_AS(fp32.compute<bf16>(), Error);
    CHECK(std::ranges::all_of(fp32.gradient(), [](float g) { return g == 0; }));

    const train::ParameterStore<HostSpace> half(table, Precision::bf16);
    CHECK(half.compute<bf16>().size() == table.flat_size());
    CHECK(half.master().size() == table.flat_size());
    CHECK_THROWS_AS(half.compute<float>(), Error);
}
