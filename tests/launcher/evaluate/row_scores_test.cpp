// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/row_scores.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "launcher/evaluate/gather.hpp"
#include "runtime/comm/texts.hpp"
#include "runtime/comm/threads/thread_world.hpp"

using namespace lockstep;
using launcher::NamedValues;

namespace {

struct Row {
    std::uint32_t number;
    kernels::LossSums losses;
    std::string reply;
    std::vector<std::string> references;
};

std::vector<Row> rows() {
    std::vector<Row> rows;
    const char* const words[] = {"one", "two", "three", "four", "five"};
    for (std::uint32_t i = 0; i < 23; ++i) {
        const double tokens = 3 + i % 5;
        std::string reply;
        for (std::uint32_t w = 0; w < i % 7; ++w)
            reply += std::string(words[(i * 3 + w * w) % 5]) + " ";
        rows.push_back({i,
                        {.loss = 0,
                         .nll = 0.1 * i + 1.0 / 3,
                         .tokens = tokens,
                         .correct = i % 4 == 0 ? tokens : 1},
                        reply,
                        {words[i % 5], "one two three"}});
    }
    return rows;
}

// Rank r of n has the rows r, r + n, ..., the last ones first.
NamedValues scored_by(int ranks) {
    std::vector<NamedValues> values(static_cast<std::size_t>(ranks));
    comm::run_as_threads(ranks, [&](comm::Communicator& communicator) {
        const train::ReplyMetrics metrics("all");
        launcher::RowScores scores(metrics);
        auto all = rows();
        std::ranges::reverse(all);
        for (const Row& row : all) {
            if (static_cast<int>(row.number) % ranks != communicator.rank()) continue;
            scores.add(row.number, row.losses);
            scores.add_reply(row.reply, row.references);
        }
        values[static_cast<std::size_t>(communicator.rank())] = scores.of_all(communicator);
    });
    for (const NamedValues& each : values) CHECK(each == values.front());
    return values.front();
}

}  // namespace

TEST_CASE("scores of rows have the same bits however the rows are divided") {
    const NamedValues alone = scored_by(1);
    CHECK(alone.size() == 6 + 15);
    for (const int ranks : {2, 4, 7, 30}) {
        const NamedValues values = scored_by(ranks);
        for (const auto& [name, value] : alone) {
            CAPTURE(name);
            CHECK(values.at(name) == value);
        }
        CHECK(values.size() == alone.size());
    }
    CHECK(alone.at("examples") == 23);
    CHECK(alone.at("token_em") == 6.0 / 23);
    // Five different words, and 3 * (0 + 1 + ... + 6) + 0 + 1 in all.
    CHECK(alone.at("interdistinct-1") == 5.0 / 64);
}

TEST_CASE("what was not measured is not there") {
    comm::run_as_threads(2, [](comm::Communicator& communicator) {
        const train::ReplyMetrics metrics("all");
        launcher::RowScores scores(metrics);
        CHECK(scores.of_all(communicator).contains("ppl") == false);
        if (communicator.rank() == 1) {
            const NamedValues own = scores.add(0, {.loss = 0, .nll = 2, .tokens = 2, .correct = 1});
            CHECK(own.at("token_acc") == 0.5);
            CHECK(own.at("token_em") == 0);
        }
        const NamedValues all = scores.of_all(communicator);
        CHECK(all.at("loss") == 1);
        CHECK(all.at("examples") == 1);
        CHECK_FALSE(all.contains("f1"));
        CHECK_FALSE(all.contains("interdistinct-1"));
    });
}

TEST_CASE("texts of any length come to rank 0") {
    comm::run_as_threads(3, [](comm::Communicator& communicator) {
        const int rank = communicator.rank();
        const auto texts = comm::gather_texts(
            communicator, std::string(rank == 1 ? 0 : 1000 * (rank + 1), 'a'), "test");
        if (rank != 0) {
            CHECK(texts.empty());
            return;
        }
        REQUIRE(texts.size() == 3);
        CHECK(texts[0].size() == 1000);
        CHECK(texts[1].empty());
        CHECK(texts[2] == std::string(3000, 'a'));
    });
}
