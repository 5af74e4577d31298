// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/same_options.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "launcher/text/already_told.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

struct Rank {
    std::string host;
    ComparedOptions options;
};

// Returns what each rank says of the options of all; "" where it accepts them.
std::vector<std::string> answers(const std::vector<Rank>& ranks) {
    const int size = static_cast<int>(ranks.size());
    std::vector<std::string> said(ranks.size());
    comm::run_as_threads(size, [&](comm::Communicator& communicator) {
        const auto i = static_cast<std::size_t>(communicator.rank());
        comm::RankInfo self;
        self.rank = communicator.rank();
        self.size = size;
        self.host = ranks[i].host;
        try {
            require_same_options(communicator, self, ranks[i].options);
        } catch (const AlreadyTold& error) {
            said[i] = std::string(name(error.kind())) + ": " + error.what();
        }
    });
    return said;
}

const ComparedOptions usual{{"learningrate", {"0.001", ""}}, {"seed", {"1", ""}}};

}  // namespace

TEST_CASE("ranks with the same options accept them") {
    CHECK(answers({{"n1", usual}, {"n2", usual}, {"n2", usual}}) == std::vector<std::string>(3));
}

TEST_CASE("all ranks name the first that differs, the option, both values, and hosts that differ") {
    ComparedOptions other = usual, another = usual;
    other["learningrate"] = {"0.05", ""};
    another["seed"] = {"", ""};
    const auto across = answers({{"n1", usual}, {"n1", usual}, {"n2", other}, {"n2", another}});
    CHECK(across.front().starts_with(
        "config: --learningrate: 0.001 on rank 0 (n1), but 0.05 on rank 2 (n2); give all ranks"));
    CHECK(across == std::vector<std::string>(4, across.front()));
    const auto here = answers({{"n1", usual}, {"n1", another}});
    CHECK(here.back().starts_with("config: --seed: 1 on rank 0, but not given on rank 1; "));
    CHECK(here.front() == here.back());
}
