// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/run_versions.hpp"

#include <doctest/doctest.h>

using namespace lockstep;
using launcher::differences;
using launcher::gradient_sums;

namespace {

std::string sums(int ranks, int stage, int sharing, std::int64_t lanes) {
    train::TrainOptions options;
    options.zero = {stage, sharing};
    options.lanes = lanes;
    return gradient_sums(options, ranks);
}

}  // namespace

TEST_CASE("the order of the sums names the ranks that share, where they change it") {
    CHECK(sums(4, 0, 0, 8) == "over all ranks");
    CHECK(sums(4, 1, 0, 8) == "over all ranks");
    CHECK(sums(4, 1, 4, 8) == "over all ranks");
    CHECK(sums(4, 3, 0, 4) == "over all ranks");
    CHECK(sums(1, 3, 0, 4) == "over all ranks");
    CHECK(sums(4, 2, 0, 8) == "over all ranks after each micro-batch");
    CHECK(sums(4, 1, 2, 8) == "over 2 ranks that share, then over replicas");
    CHECK(sums(4, 3, 2, 8) == "over 2 ranks that share after each micro-batch, then over replicas");
    train::TrainOptions fixed;
    fixed.zero = {1, 2};
    fixed.reducer.lane_order = train::LaneOrder::fixed;
    CHECK(gradient_sums(fixed, 4) == "in the order of the lanes");
}

TEST_CASE("what has changed is named, and sums that an earlier version does not tell are whole") {
    const train::Metadata whole{{"ranks", "4"}, {"sums", "over all ranks"}};
    const train::Metadata parts{{"ranks", "2"}, {"sums", "over 2"}};
    CHECK(differences(whole, whole).empty());
    CHECK(differences({{"ranks", "4"}}, whole).empty());
    CHECK(differences({}, {{"sums", "in the order of the lanes"}}).empty());
    CHECK(differences({}, parts) == "ranks none -> 2, sums over all ranks -> over 2");
    CHECK(differences(whole, parts) == "ranks 4 -> 2, sums over all ranks -> over 2");
    CHECK(differences({}, {{"device", "cpu"}}) == "device none -> cpu");
}

TEST_CASE("masks that an earlier version does not tell are those of ten rounds") {
    const train::Metadata now{{launcher::dropout_masks, "Philox4x32-7"}};
    CHECK(differences(now, now).empty());
    CHECK(differences({}, now) == "dropout masks Philox4x32-10 -> Philox4x32-7");
    CHECK(differences(now, {}).empty());
}
