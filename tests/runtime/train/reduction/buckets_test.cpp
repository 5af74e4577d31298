// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "runtime/train/reduction/weight_labels.hpp"

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

TEST_CASE("every element of a shared replica is owned once, in equal parts of whole grains") {
    std::mt19937 random(11);
    const auto up_to = [&](std::uint32_t most) {
        return static_cast<std::uint32_t>(random() % most + 1);
    };
    for (int round = 0; round < 500; ++round) {
        CAPTURE(round);
        train::ParameterTable table;
        const int blocks = static_cast<int>(up_to(6));
        for (int block = 0; block < blocks; ++block)
            for (std::uint32_t i = up_to(4); i > 0; --i)
                table.add(std::to_string(block) + "." + std::to_string(i), {up_to(9000)}, block,
                          apply);
        const int ranks = static_cast<int>(up_to(9));
        table.pad_for(ranks);
        table.share_among(ranks);
        train::ReducerOptions options;
        options.first_bucket_bytes = up_to(20'000);
        options.bucket_bytes = up_to(200'000);
        const auto buckets = train::plan_buckets(table, options);
        const train::Parameter& last = table.all().back();
        const auto first_of_last =
            std::ranges::find(table.all(), last.block, &train::Parameter::block)->offset;
        CHECK((buckets.back().first == first_of_last || ranks == 1 || blocks == 1));
        std::vector<int> owners(table.flat_size() / train::grain);
        for (int rank = 0; rank < ranks; ++rank) {
            std::size_t packed = 0;
            for (const train::OwnedPart& part : train::owned_parts(table, options, rank)) {
                CHECK(part.first % train::grain == 0);
                CHECK(part.count % train::grain == 0);
                CHECK(part.packed == packed);
                packed += part.count;
                for (std::size_t i = 0; i < part.count; i += train::grain)
                    ++owners[(part.first + i) / train::grain];
            }
            CHECK(packed * static_cast<std::size_t>(ranks) == table.flat_size());
        }
        CHECK(std::ranges::count(owners, 1) == static_cast<std::ptrdiff_t>(owners.size()));
    }
}

TEST_CASE("segments hold whole blocks and whole buckets, and no two neighbours share a slot") {
    std::mt19937 random(12);
    const auto up_to = [&](std::uint32_t most) {
        return static_cast<std::uint32_t>(random() % most + 1);
    };
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        train::ParameterTable table;
        const int blocks = static_cast<int>(up_to(8));
        for (int block = 0; block < blocks; ++block)
            for (std::uint32_t i = up_to(4); i > 0; --i)
                table.add(std::to_string(block) + "." + std::to_string(i), {up_to(9000)}, block,
                          apply);
        const int ranks = static_cast<int>(up_to(7)) + 1;
        table.pad_for(ranks);
        table.share_among(ranks, 2);
        train::ReducerOptions options;
        options.first_bucket_bytes = up_to(20'000);
        options.bucket_bytes = up_to(200'000);
        const auto segments = train::plan_segments(table, options);
        std::size_t end = 0;
        for (const train::Segment& segment : segments) {
            CHECK(segment.first == end);
            CHECK(segment.count > 0);
            end += segment.count;
        }
        CHECK(end == table.flat_size());
        const train::Placement placement(segments);
        std::vector<std::size_t> slot(table.all().size());
        for (std::size_t i = 0; i < table.all().size(); ++i) {
            const train::Parameter& p = table[i];
            const std::size_t segment = placement.segment_of(p.offset);
            // It lies in one segment, at the same place behind the beginning of its slot.
            const std::size_t at = placement.at(p.offset, p.count);
            CHECK(at + p.count <= placement.size());
            slot[i] = at - (p.offset - segments[segment].first);
            if (i == 0) continue;
            const std::size_t before = placement.segment_of(table[i - 1].offset);
            CHECK((slot[i] == slot[i - 1]) == (segment == before));
            if (p.block == table[i - 1].block) CHECK(segment == before);
        }
        for (const train::Bucket& bucket : train::plan_buckets(table, options))
            CHECK_NOTHROW(placement.at(bucket.first, bucket.count));
    }
}

TEST_CASE("buckets of a shared replica hold whole blocks, or a part of one") {
    train::ParameterTable table;
    table.add("a", {1000}, 0, apply);
    table.add("b", {2000}, 1, apply);
    table.add("c", {3000}, 2, apply);
    table.add("table", {5000}, 3, apply);
    table.pad_for(2);
    using Counts = std::vector<std::size_t>;
    CHECK(counts(table, 4000, 7000) == Counts{3072, 3072, 5120});
    CHECK(counts(table, 1024, 7000) == Counts{1024, 5120, 5120});
    CHECK(counts(table, 600, 7000) == Counts{512, 512, 5120, 5120});
    CHECK(counts(table, 1, 1600) == Counts{512, 512, 1536, 512, 1536, 1536, 5120});
}

TEST_CASE("a table that merely looks padded is nobody's but the rank's own") {
    train::ParameterTable table;
    table.add("a", {512}, 0, apply);
    table.add("table", {1024}, 1, apply);
    const auto parts = train::owned_parts(table, {}, 0);
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].count == table.flat_size());
}

TEST_CASE("weights travel under the names of their blocks") {
    train::ParameterTable table;
    for (const char* name : {"decoder.layers.1.ffn.bias", "decoder.layers.1.ffn.weight"})
        table.add(name, {256}, 0, train::WeightDecay::apply);
    table.add("decoder.layers.0.ffn.weight", {256}, 1, train::WeightDecay::apply);
    table.add("embeddings.weight", {256}, 2, train::WeightDecay::apply);
    const auto labels = train::weight_labels(table, {{0, 512}, {512, 256}, {768, 256}, {256, 512}});
    REQUIRE(labels.size() == 4);
    CHECK(labels[0] == "weights 0 of decoder.layers.1");
    CHECK(labels[1] == "weights 1 of decoder.layers.0");
    CHECK(labels[2] == "weights 2 of embeddings");
    CHECK(labels[3] == "weights 3 of decoder.layers.1 to decoder.layers.0");
}
