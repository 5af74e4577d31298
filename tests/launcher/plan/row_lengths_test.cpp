// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/row_lengths.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/core/philox.hpp"
#include "tests/support/memory_rows.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::launcher::plan;

namespace {

BatchRules rules_of(Dynamic dynamic, Layout layout, std::int64_t batchsize,
                    std::int64_t tokens = 0) {
    BatchingOptions options;
    options.dynamic = dynamic;
    options.layout = layout;
    options.batchsize = batchsize;
    options.batch_tokens = tokens;
    options.n_positions = 48;
    return {options, DatasetKind::dialogue};
}

RowLengths lengths_of(const tests::MemoryRows::Shard& shard, const BatchRules& rules) {
    tests::MemoryRows rows({shard});
    return row_lengths(rows, tests::rows_of({shard}), rules);
}

// Returns the memory of a micro-batch if it is linear in both totals.
double weight(const train::BatchShape& shape, double source, double target) {
    return source * static_cast<double>(shape.source_total) +
           target * static_cast<double>(shape.target_total);
}

double heaviest(const std::vector<train::BatchShape>& shapes, double source, double target) {
    double most = 0;
    for (const auto& shape : shapes) most = std::max(most, weight(shape, source, target));
    return most;
}

}  // namespace

TEST_CASE("row lengths count what the model sees of each row") {
    const BatchRules rules = rules_of(Dynamic::off, Layout::encoder_decoder, 2);
    const RowLengths lengths = lengths_of({{0, 3}, {60, 3}, {48, 3}, {5, 100}}, rules);
    CHECK(lengths == RowLengths{{{1, 3}, 1}, {{48, 3}, 2}, {{5, 48}, 1}});
}

TEST_CASE("no batch of random rows is heavier than the largest ones") {
    const auto shard = tests::random_shard(3, 400, 60);
    for (const Layout layout : {Layout::encoder_decoder, Layout::decoder_only}) {
        constexpr std::int64_t batchsize = 7;
        const BatchRules rules = rules_of(Dynamic::batchsort, layout, batchsize);
        const auto shapes = largest_batches(lengths_of(shard, rules), rules);
        REQUIRE(!shapes.empty());
        for (const auto& shape : shapes) CHECK(shape.sequences == batchsize);
        for (const auto& [source, target] : {std::pair{1.0, 1.0}, {0.0, 1.0}, {1.0, 0.3}}) {
            // The heaviest rows themselves, one by one.
            std::vector<double> rows;
            for (const auto& [s, l] : shard) {
                RowExtent extent;
                extent.source = s;
                extent.label = l;
                const RowSize size = rules.fit(extent);
                rows.push_back(layout == Layout::decoder_only
                                   ? target * (size.source + size.label)
                                   : source * size.source + target * size.label);
            }
            std::sort(rows.rbegin(), rows.rend());
            double most = 0;
            for (std::int64_t i = 0; i < batchsize; ++i) most += rows[static_cast<std::size_t>(i)];
            CHECK(heaviest(shapes, source, target) >= 0.999 * most);
            CHECK(heaviest(shapes, source, target) <= 1.07 * most + 32);  // shape classes
        }
    }
}

TEST_CASE("a budget is filled with sources or with labels, as far as rows have them") {
    const BatchRules rules = rules_of(Dynamic::full, Layout::encoder_decoder, 1, 100);
    const auto shapes = largest_batches(lengths_of({{8, 2}, {8, 2}, {2, 8}}, rules), rules);
    // All that there is: 30 tokens.
    for (const auto& shape : shapes) CHECK(shape.source_total + shape.target_total == 32 + 16);
    tests::MemoryRows::Shard many;
    for (int i = 0; i < 50; ++i) many.insert(many.end(), {{9, 1}, {1, 9}});
    const auto extremes = largest_batches(lengths_of(many, rules), rules);
    REQUIRE(extremes.size() == 2);
    CHECK(extremes[0].source_total == shape_class(10));
    CHECK(extremes[0].target_total == shape_class(90));
    CHECK(extremes[1].source_total == shape_class(90));
    CHECK(extremes[1].sequences == 10);
}

TEST_CASE("a row above the budget is a batch of its own") {
    const BatchRules rules = rules_of(Dynamic::full, Layout::decoder_only, 1, 16);
    const auto shapes = largest_batches(lengths_of({{2, 2}, {30, 10}}, rules), rules);
    CHECK(heaviest(shapes, 0, 1) == 48);
    CHECK(shapes.back().sequences == 1);
}

TEST_CASE("without data rows are as long as they may be") {
    const BatchRules both = rules_of(Dynamic::off, Layout::encoder_decoder, 4);
    const std::vector<train::BatchShape> expected{{192, 192, 4, 48, 48}};
    CHECK(largest_batches(full_rows(both), both) == expected);
    const BatchRules one = rules_of(Dynamic::full, Layout::decoder_only, 4);
    const std::vector<train::BatchShape> decoder{{0, 192, 4, 0, 48}};
    CHECK(largest_batches(full_rows(one), one) == decoder);
}
