// SPDX-License-Identifier: Apache-2.0
#include "data/batching/batch_builder.hpp"

#include <doctest/doctest.h>

#include "runtime/core/error.hpp"
#include "tests/support/memory_rows.hpp"

using namespace lockstep;
using namespace lockstep::data;
using tests::token_of;

namespace {

using Ints = std::vector<std::int32_t>;
using Rows = std::vector<std::uint32_t>;

// Builds a micro-batch of all rows, in their order.
train::Batch build(const tests::MemoryRows::Shard& shard, BatchingOptions options,
                   DatasetKind kind = DatasetKind::dialogue, const SpecialTokens& special = {}) {
    tests::MemoryRows store({shard});
    WindowPlan plan;
    store.append_extents(0, 0, static_cast<std::int64_t>(shard.size()), plan.rows);
    plan.begins = {0, shard.size()};
    return build_batch(Window(plan, store), 0, BatchRules(options, kind, special));
}

Ints first(const Ints& values, std::size_t count) {
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Returns the labels that would follow from the tokens.
Ints following(const train::Batch& batch) {
    Ints labels(batch.target.tokens.size(), -1);
    for (std::size_t s = 0; s < batch.rows.size(); ++s) {
        const std::int32_t end = batch.target.offsets[s + 1];
        for (auto i = batch.target.offsets[s] + batch.label_starts[s]; i < end; ++i)
            labels[static_cast<std::size_t>(i)] =
                i + 1 < end ? batch.target.tokens[static_cast<std::size_t>(i) + 1]
                            : batch.last_labels[s];
    }
    return labels;
}

}  // namespace

TEST_CASE("labels follow from the target's tokens in either layout, cut or not") {
    for (const Layout layout : {Layout::encoder_decoder, Layout::decoder_only})
        for (const int most : {0, 3}) {
            BatchingOptions options;
            options.layout = layout;
            if (most > 0) options.text_truncate = options.label_truncate = most;
            const train::Batch batch = build({{2, 3}, {0, 1}, {5, 6}, {1, 1}}, options);
            CHECK(batch.labels == following(batch));
        }
}

TEST_CASE("source and target lie end to end, the target shifted behind __start__") {
    const train::Batch batch = build({{2, 3}, {1, 1}}, {});
    CHECK(batch.source.offsets == Ints{0, 2, 3});
    CHECK(first(batch.source.tokens, 3) == Ints{token_of(0, 0), token_of(0, 1), token_of(1, 0)});
    CHECK(batch.target.offsets == Ints{0, 3, 4});
    CHECK(first(batch.target.tokens, 4) == Ints{1, token_of(0, 2), token_of(0, 3), 1});
    CHECK(first(batch.labels, 4) ==
          Ints{token_of(0, 2), token_of(0, 3), token_of(0, 4), token_of(1, 1)});
    CHECK(batch.rows == Rows{0, 1});
    CHECK(batch.label_tokens == 4);
    CHECK(batch.truncated_rows == 0);
    CHECK(batch.source.longest == 2);
    CHECK(batch.target.longest == 3);
}

TEST_CASE("filler is token 0 without a label") {
    const train::Batch batch = build({{2, 3}, {1, 1}}, {});
    REQUIRE(batch.target.total() == 16);
    REQUIRE(batch.source.total() == 16);
    CHECK(batch.target.real() == 4);
    REQUIRE(batch.labels.size() == 16);
    for (std::size_t i = 4; i < 16; ++i) {
        CHECK(batch.target.tokens[i] == 0);
        CHECK(batch.labels[i] == -1);
    }
}

TEST_CASE("a cut row keeps its context's last and its label's first tokens, and is counted") {
    BatchingOptions options;
    options.text_truncate = 2;
    options.label_truncate = 3;
    const train::Batch batch = build({{5, 6}, {2, 3}}, options);
    CHECK(first(batch.source.tokens, 2) == Ints{token_of(0, 3), token_of(0, 4)});
    CHECK(first(batch.target.tokens, 3) == Ints{1, token_of(0, 5), token_of(0, 6)});
    CHECK(first(batch.labels, 3) == Ints{token_of(0, 5), token_of(0, 6), token_of(0, 7)});
    CHECK(batch.truncated_rows == 1);
    CHECK(batch.label_tokens == 6);
}

TEST_CASE("an empty context is one __null__") {
    const train::Batch batch = build({{0, 2}}, {});
    CHECK(batch.source.offsets == Ints{0, 1});
    CHECK(batch.source.tokens[0] == 0);
}

TEST_CASE("decoder-only: context, __start__ and label in one sequence, labels on the label only") {
    BatchingOptions options;
    options.layout = Layout::decoder_only;
    const train::Batch batch = build({{2, 3}, {0, 1}}, options);
    CHECK(batch.source.total() == 0);
    CHECK(batch.source.sequences() == 0);
    CHECK(batch.target.offsets == Ints{0, 5, 6});
    CHECK(first(batch.target.tokens, 6) ==
          Ints{token_of(0, 0), token_of(0, 1), 1, token_of(0, 2), token_of(0, 3), 1});
    CHECK(first(batch.labels, 6) ==
          Ints{-1, -1, token_of(0, 2), token_of(0, 3), token_of(0, 4), token_of(1, 0)});
    CHECK(batch.label_tokens == 4);
}

TEST_CASE("decoder-only: a sequence never exceeds the model's positions") {
    BatchingOptions options;
    options.layout = Layout::decoder_only;
    options.n_positions = 4;
    const train::Batch batch = build({{5, 3}, {1, 9}}, options);
    CHECK(batch.target.offsets == Ints{0, 4, 8});
    CHECK(first(batch.target.tokens, 4) == Ints{token_of(0, 4), 1, token_of(0, 5), token_of(0, 6)});
    CHECK(batch.labels[4] == token_of(1, 1));
    CHECK(batch.truncated_rows == 2);
}

TEST_CASE("a block of plain text is shifted behind __start__") {
    BatchingOptions options;
    options.layout = Layout::decoder_only;
    const train::Batch batch = build({{0, 3}}, options, DatasetKind::language_model);
    CHECK(first(batch.target.tokens, 3) == Ints{1, token_of(0, 0), token_of(0, 1)});
    CHECK(first(batch.labels, 3) == Ints{token_of(0, 0), token_of(0, 1), token_of(0, 2)});
}

TEST_CASE("without a start token, the context's last token predicts the label's first one") {
    BatchingOptions options;
    options.layout = Layout::decoder_only;
    const SpecialTokens special{.null = std::nullopt, .start = std::nullopt, .begin = 900};
    const train::Batch batch =
        build({{2, 3}, {1, 1}, {0, 2}}, options, DatasetKind::dialogue, special);
    CHECK(batch.target.offsets == Ints{0, 4, 5, 7});
    CHECK(first(batch.target.tokens, 7) == Ints{token_of(0, 0), token_of(0, 1), token_of(0, 2),
                                                token_of(0, 3), token_of(1, 0), 900,
                                                token_of(2, 0)});
    CHECK(first(batch.labels, 7) == Ints{-1, token_of(0, 2), token_of(0, 3), token_of(0, 4),
                                         token_of(1, 1), token_of(2, 0), token_of(2, 1)});
    CHECK(batch.labels == following(batch));
    CHECK(batch.label_tokens == 6);
    CHECK(batch.truncated_rows == 0);
}

TEST_CASE("without a start token, a row that is cut fills the model's positions") {
    BatchingOptions options;
    options.layout = Layout::decoder_only;
    options.n_positions = 4;
    const train::Batch batch =
        build({{5, 3}, {1, 9}, {2, 3}}, options, DatasetKind::dialogue, {.start = std::nullopt});
    CHECK(batch.target.offsets == Ints{0, 4, 8, 12});
    CHECK(first(batch.target.tokens, 4) ==
          Ints{token_of(0, 3), token_of(0, 4), token_of(0, 5), token_of(0, 6)});
    CHECK(batch.target.tokens[4] == token_of(1, 0));
    CHECK(batch.labels == following(batch));
    CHECK(batch.truncated_rows == 2);
}

TEST_CASE("without tokens that start a label or begin a text, a row needs a context") {
    BatchingOptions options;
    options.layout = Layout::decoder_only;
    CHECK_THROWS_WITH_AS(build({{0, 2}}, options, DatasetKind::dialogue, {.start = std::nullopt}),
                         doctest::Contains("no context"), Error);
    options.layout = Layout::encoder_decoder;
    CHECK_THROWS_WITH_AS(build({{1, 2}}, options, DatasetKind::dialogue, {.start = std::nullopt}),
                         doctest::Contains("-m gpt2"), Error);
}

TEST_CASE("special tokens have the ids of the tokenizer") {
    const SpecialTokens special{.null = 7, .start = 8, .begin = std::nullopt, .ends = {9}};
    const train::Batch batch = build({{0, 2}}, {}, DatasetKind::dialogue, special);
    CHECK(batch.source.tokens == Ints(16, 7));
    CHECK(first(batch.target.tokens, 3) == Ints{8, token_of(0, 0), 7});
}

namespace {

// Rows of two answers: 2 tokens, an answer of 2, 3 tokens between, an answer of 1.
class Conversations final : public RowStore {
public:
    void append_extents(int, std::int64_t first, std::int64_t count,
                        std::vector<RowExtent>& out) override {
        for (std::int64_t i = first; i < first + count; ++i)
            out.push_back({static_cast<std::uint32_t>(i), 0, static_cast<std::uint64_t>(8 * i), 2,
                           6, static_cast<std::uint32_t>(i), 0, i == 1 ? 0 : 3});
    }
    void read_spans(const RowExtent&, std::vector<LabelSpan>& out) override {
        out.push_back({2, 4});
        out.push_back({7, 8});
    }
    void read_tokens(int, std::uint64_t first, std::span<std::int32_t> out) override {
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<std::int32_t>(100 + first + i);
    }
    std::vector<std::string> read_references(const RowExtent&) override { return {}; }
};

train::Batch conversations(int rows, std::int64_t n_positions) {
    Conversations store;
    WindowPlan plan;
    store.append_extents(0, 0, rows, plan.rows);
    plan.begins = {0, static_cast<std::size_t>(rows)};
    BatchingOptions options;
    options.layout = Layout::decoder_only;
    options.n_positions = n_positions;
    SpecialTokens special;
    special.start.reset();
    return build_batch(Window(plan, store), 0, BatchRules(options, DatasetKind::dialogue, special));
}

}  // namespace

TEST_CASE("the answers of a conversation have labels, and what is said between them has none") {
    const train::Batch batch = conversations(2, 64);
    CHECK(batch.target.offsets == Ints{0, 7, 14});
    CHECK(first(batch.target.tokens, 14) == Ints{100, 101, 102, 103, 104, 105, 106,  //
                                                 108, 109, 110, 111, 112, 113, 114});
    CHECK(first(batch.labels, 14) == Ints{-1, 102, 103, -1, -1, -1, 107,  //
                                          -1, 110, 111, 112, 113, 114, 115});
    CHECK(batch.label_tokens == 9);
    CHECK(batch.label_starts.empty());
    CHECK(batch.last_labels.empty());
    CHECK(batch.truncated_rows == 0);
}

TEST_CASE("a conversation that is too long keeps the answers that end in time, whole") {
    for (const int positions : {6, 5, 4, 3}) {
        const train::Batch batch = conversations(1, positions);
        CAPTURE(positions);
        CHECK(batch.target.offsets == Ints{0, 3});
        CHECK(first(batch.target.tokens, 3) == Ints{100, 101, 102});
        CHECK(first(batch.labels, 3) == Ints{-1, 102, 103});
        CHECK(batch.label_tokens == 2);
        CHECK(batch.truncated_rows == 1);
    }
    const train::Batch front = conversations(1, 2);
    CHECK(first(front.target.tokens, 2) == Ints{101, 102});
    CHECK(first(front.labels, 2) == Ints{102, 103});
    CHECK(conversations(1, 7).truncated_rows == 0);
}
