// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/lane_tree.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace lockstep;
using train::LaneBranch;
using train::LaneRange;

namespace {

// Adds texts as LaneStack says: the result shows the order of the sums.
struct Sums {
    train::LaneStack stack;
    std::vector<std::string> texts;

    explicit Sums(std::int64_t lanes) : stack(lanes) {}

    void push(LaneBranch branch, const std::string& text) {
        std::size_t sums = stack.push(branch);
        for (texts.push_back(text); sums > 0; --sums) {
            const std::string right = texts.back();
            texts.pop_back();
            texts.back() = "(" + texts.back() + "+" + right + ")";
        }
    }
};

Sums sums_of(LaneRange range, std::int64_t lanes) {
    Sums sums(lanes);
    for (std::int64_t lane = range.first; lane < range.end; ++lane)
        sums.push({0, lane}, std::to_string(lane));
    return sums;
}

}  // namespace

TEST_CASE("lanes are added pairwise") {
    const auto all = [](std::int64_t lanes) { return sums_of({0, lanes}, lanes).texts; };
    CHECK(all(1) == std::vector<std::string>{"0"});
    CHECK(all(3) == std::vector<std::string>{"((0+1)+2)"});
    CHECK(all(6) == std::vector<std::string>{"(((0+1)+(2+3))+(4+5))"});
    CHECK(all(7) == std::vector<std::string>{"(((0+1)+(2+3))+((4+5)+6))"});
}

TEST_CASE("any number of ranks adds the lanes in the same order") {
    for (std::int64_t lanes = 1; lanes <= 33; ++lanes)
        for (int ranks = 1; ranks <= 40; ++ranks) {
            CAPTURE(lanes);
            CAPTURE(ranks);
            Sums whole(lanes);
            for (int rank = 0; rank < ranks; ++rank) {
                const LaneRange range = train::lanes_of_rank(lanes, rank, ranks);
                const Sums own = sums_of(range, lanes);
                const auto branches = train::branches_of(range, lanes);
                REQUIRE(branches == own.stack.branches());
                for (std::size_t i = 0; i < branches.size(); ++i)
                    whole.push(branches[i], own.texts[i]);
            }
            REQUIRE(whole.texts == sums_of({0, lanes}, lanes).texts);
        }
}

TEST_CASE("few gradients wait") {
    CHECK(train::waiting_branches({0, 1}, 1) == 0);
    CHECK(train::waiting_branches({0, 12}, 12) == 3);
    CHECK(train::waiting_branches({0, 4096}, 4096) == 12);
    for (std::int64_t first = 0; first < 64; ++first)
        for (std::int64_t end = first; end <= 64; ++end)
            CHECK(train::waiting_branches({first, end}, 64) <= 10);
}

TEST_CASE("ranks have neighbouring lanes, as many as the others or one more") {
    for (std::int64_t lanes = 1; lanes <= 20; ++lanes)
        for (int ranks = 1; ranks <= 24; ++ranks) {
            std::int64_t next = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const LaneRange range = train::lanes_of_rank(lanes, rank, ranks);
                REQUIRE(range.first == next);
                REQUIRE(range.count() >= lanes / ranks);
                REQUIRE(range.count() <= lanes / ranks + 1);
                next = range.end;
            }
            REQUIRE(next == lanes);
        }
}
