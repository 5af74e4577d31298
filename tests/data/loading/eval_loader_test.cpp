// SPDX-License-Identifier: Apache-2.0
#include "data/loading/eval_loader.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "tests/support/memory_rows.hpp"

using namespace lockstep;
using namespace lockstep::data;
using Shards = std::vector<tests::MemoryRows::Shard>;

namespace {

EvalLoader loader(const Shards& shards, const BatchingOptions& options, Lane rank,
                  std::int64_t max_examples = -1, ReferenceText references = ReferenceText::skip) {
    return {std::make_unique<tests::MemoryRows>(shards),
            limit_rows(tests::rows_of(shards), max_examples),
            BatchRules(options, DatasetKind::dialogue),
            {4, 3},
            rank,
            references};
}

std::vector<std::uint32_t> rows_of(EvalLoader& source) {
    std::vector<std::uint32_t> rows;
    for (train::Batch batch; source.next(batch);)
        rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
    return rows;
}

}  // namespace

TEST_CASE("every row is evaluated by exactly one rank") {
    PhiloxStream random(41);
    for (int trial = 0; trial < 40; ++trial) {
        Shards shards(1 + random.below(3));
        std::size_t total = 0;
        for (auto& shard : shards) {
            shard = tests::random_shard(random(), static_cast<int>(random.below(80)), 40);
            total += shard.size();
        }
        BatchingOptions options;
        options.dynamic = static_cast<Dynamic>(random.below(3));
        options.batchsize = 1 + random.below(6);
        options.n_positions = 48;
        const std::int64_t world = 1 + random.below(5);
        std::multiset<std::uint32_t> seen;
        for (std::int64_t rank = 0; rank < world; ++rank) {
            auto source = loader(shards, options, {rank, world});
            const auto rows = rows_of(source);
            seen.insert(rows.begin(), rows.end());
            source.rewind();
            CHECK(rows_of(source) == rows);
        }
        CHECK(seen.size() == total);
        CHECK(std::set(seen.begin(), seen.end()).size() == total);
    }
}

TEST_CASE("a limit takes the first rows, over all ranks") {
    const Shards shards{tests::random_shard(1, 10, 9), tests::random_shard(2, 10, 9)};
    std::set<std::uint32_t> seen;
    for (std::int64_t rank = 0; rank < 2; ++rank) {
        auto source = loader(shards, {}, {rank, 2}, 13);
        for (const std::uint32_t row : rows_of(source)) seen.insert(row);
    }
    CHECK(seen.size() == 13);
    CHECK(*seen.rbegin() == 12);
    CHECK(limit_rows({5, 5}, 0) == std::vector<std::int64_t>{5, 5});
    CHECK(limit_rows({5, 5}, 3) == std::vector<std::int64_t>{3, 0});
}

TEST_CASE("references follow the rows of a batch") {
    BatchingOptions options;
    options.dynamic = Dynamic::batchsort;
    options.batchsize = 5;
    const Shards shards{tests::random_shard(1, 23, 30)};
    auto with = loader(shards, options, {0, 1}, -1, ReferenceText::read);
    for (train::Batch batch; with.next(batch);) {
        REQUIRE(batch.references.size() == batch.rows.size());
        for (std::size_t i = 0; i < batch.rows.size(); ++i)
            CHECK(batch.references[i].at(0) == "row " + std::to_string(batch.rows[i]));
    }
    auto without = loader(shards, options, {0, 1});
    train::Batch batch;
    REQUIRE(without.next(batch));
    CHECK(batch.references.empty());
}

TEST_CASE("whole contexts follow the rows of a batch that holds their ends") {
    BatchingOptions options;
    options.text_truncate = 2;
    auto source = loader({{{5, 2}, {1, 3}}}, options, {0, 1}, -1, ReferenceText::read);
    train::Batch batch;
    std::size_t cut = 0;
    while (source.next(batch)) {
        REQUIRE(batch.contexts.size() == batch.rows.size());
        for (std::size_t i = 0; i < batch.rows.size(); ++i) {
            const auto& context = batch.contexts[i];
            REQUIRE(context.size() == (batch.rows[i] == 0 ? 5 : 1));
            for (std::size_t t = 0; t < context.size(); ++t)
                CHECK(context[t] == tests::token_of(batch.rows[i], static_cast<int>(t)));
            const auto in_batch = batch.source.offsets[i + 1] - batch.source.offsets[i];
            cut += context.size() - static_cast<std::size_t>(in_batch);
        }
    }
    CHECK(cut == 3);
}

TEST_CASE("rows are as stored, unless sorting was asked for") {
    const Shards shards{tests::random_shard(1, 40, 30)};
    auto plain = loader(shards, {}, {0, 1});
    std::vector<std::uint32_t> expected(40);
    std::iota(expected.begin(), expected.end(), 0u);
    CHECK(rows_of(plain) == expected);
    BatchingOptions options;
    options.dynamic = Dynamic::batchsort;
    auto sorted = loader(shards, options, {0, 1});
    CHECK(rows_of(sorted) != expected);
}

TEST_CASE("a rank without rows is at its end") {
    auto source = loader({{{2, 2}}}, {}, {3, 4});
    train::Batch batch;
    CHECK_FALSE(source.next(batch));
}
