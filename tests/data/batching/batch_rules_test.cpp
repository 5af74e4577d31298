// SPDX-License-Identifier: Apache-2.0
#include "data/batching/batch_rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

RowExtent row(int source, int label) { return {0, 0, 0, source, label}; }

std::string complaint(const BatchingOptions& options, DatasetKind kind = DatasetKind::dialogue) {
    try {
        BatchRules(options, kind);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("context and label are cut to their own limits, and the model's by default") {
    BatchingOptions options;
    options.n_positions = 32;
    const BatchRules by_default(options, DatasetKind::dialogue);
    CHECK(by_default.fit(row(40, 50)).source == 32);
    CHECK(by_default.fit(row(40, 50)).label == 32);
    CHECK(by_default.fit(row(40, 50)).truncated);
    CHECK_FALSE(by_default.fit(row(32, 32)).truncated);
    options.text_truncate = 10;
    options.label_truncate = 100;
    const BatchRules given(options, DatasetKind::dialogue);
    CHECK(given.fit(row(11, 32)).source == 10);
    CHECK(given.fit(row(11, 32)).truncated);
    CHECK(given.fit(row(9, 33)).label == 32);
}

TEST_CASE("a decoder-only sequence holds label and context, and gives up context first") {
    BatchingOptions options;
    options.n_positions = 32;
    options.layout = Layout::decoder_only;
    const BatchRules rules(options, DatasetKind::dialogue);
    CHECK(rules.fit(row(30, 10)).source == 22);
    CHECK(rules.fit(row(30, 10)).label == 10);
    CHECK(rules.fit(row(30, 40)).source == 0);
    CHECK(rules.fit(row(30, 40)).label == 32);
    CHECK_FALSE(rules.fit(row(22, 10)).truncated);
    CHECK(rules.fit(row(0, 10)).source == 0);
}

TEST_CASE("an empty context counts as one token for an encoder") {
    const BatchRules rules({}, DatasetKind::dialogue);
    CHECK(rules.fit(row(0, 3)).source == 1);
    CHECK_FALSE(rules.fit(row(0, 3)).truncated);
}

TEST_CASE("the budget is ParlAI's, or given") {
    BatchingOptions options;
    options.batchsize = 4;
    options.dynamic = Dynamic::full;
    options.text_truncate = 64;
    options.label_truncate = 32;
    CHECK(BatchRules(options, DatasetKind::dialogue).budget() == 4 * 96);
    options.layout = Layout::decoder_only;
    options.n_positions = 80;
    CHECK(BatchRules(options, DatasetKind::dialogue).budget() == 4 * 80);
    options.batch_tokens = 1000;
    options.dynamic = Dynamic::off;
    CHECK(BatchRules(options, DatasetKind::dialogue).budget() == 1000);
    CHECK(BatchRules(options, DatasetKind::dialogue).dynamic() == Dynamic::full);
}

TEST_CASE("a row above the budget is a batch alone") {
    BatchingOptions options;
    options.batch_tokens = 10;
    const BatchRules rules(options, DatasetKind::dialogue);
    const std::vector<std::int64_t> tokens{1, 2, 3, 4, 12, 20};
    CHECK(rules.cut(tokens) == std::vector<std::size_t>{0, 4, 5, 6});
    CHECK(rules.count(tokens) == 3);
}

TEST_CASE("batches of a budget are as few as can be, and level") {
    PhiloxStream random(3);
    for (int trial = 0; trial < 200; ++trial) {
        BatchingOptions options;
        options.batch_tokens = 20 + random.below(200);
        const BatchRules rules(options, DatasetKind::dialogue);
        std::vector<std::int64_t> tokens(1 + random.below(100));
        for (auto& t : tokens) t = 1 + random.below(20);
        std::sort(tokens.begin(), tokens.end());
        const auto begins = rules.cut(tokens);
        REQUIRE(begins.front() == 0);
        REQUIRE(begins.back() == tokens.size());
        REQUIRE(begins.size() - 1 == rules.count(tokens));
        std::int64_t most = 0;
        for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
            const auto sum =
                std::accumulate(tokens.begin() + static_cast<long>(begins[b]),
                                tokens.begin() + static_cast<long>(begins[b + 1]), std::int64_t{0});
            REQUIRE(begins[b] < begins[b + 1]);
            REQUIRE(sum <= options.batch_tokens);
            most = std::max(most, sum);
        }
        const auto all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
        const auto batches = static_cast<std::int64_t>(begins.size()) - 1;
        CHECK(most <= all / batches + 20 * 2);
    }
}

TEST_CASE("fixed batches have batchsize rows") {
    BatchingOptions options;
    options.batchsize = 3;
    for (const Dynamic dynamic : {Dynamic::off, Dynamic::batchsort}) {
        options.dynamic = dynamic;
        const BatchRules rules(options, DatasetKind::dialogue);
        const std::vector<std::int64_t> tokens(8, 1000);
        CHECK(rules.cut(tokens) == std::vector<std::size_t>{0, 3, 6, 8});
        CHECK(rules.count(tokens) == 3);
    }
}

TEST_CASE("totals fall into few classes and waste little") {
    CHECK(shape_class(0) == 0);
    CHECK(shape_class(1) == 16);
    CHECK(shape_class(16) == 16);
    CHECK(shape_class(513) == 576);
    CHECK(shape_class(1024) == 1024);
    std::int64_t real = 0, filled = 0, classes = 0, last = 0;
    for (std::int64_t total = 256; total <= 4096; ++total) {
        const std::int64_t rounded = shape_class(total);
        REQUIRE(rounded >= total);
        REQUIRE(shape_class(rounded) == rounded);
        real += total;
        filled += rounded;
        if (rounded != last) ++classes;
        last = rounded;
    }
    CHECK(static_cast<double>(filled - real) < 0.06 * static_cast<double>(real));
    CHECK(classes <= 4 * 8 + 1);
}

TEST_CASE("wrong options are named") {
    BatchingOptions options;
    options.batchsize = 0;
    CHECK(complaint(options).find("--batchsize 0") != std::string::npos);
    options = {};
    options.batch_tokens = -5;
    CHECK(complaint(options).find("--batch-tokens -5") != std::string::npos);
    options.batch_tokens = 5;
    options.dynamic = Dynamic::batchsort;
    CHECK(complaint(options).find("batchsort") != std::string::npos);
    CHECK(complaint({}, DatasetKind::language_model).find("gpt2") != std::string::npos);
    options = {};
    options.layout = Layout::decoder_only;
    CHECK(complaint(options, DatasetKind::language_model).empty());
}
