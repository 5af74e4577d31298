// SPDX-License-Identifier: Apache-2.0
#include "launcher/start_up/start_up.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/comm/threads/thread_world.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("each part of the start is told once, with the rank that took longest for it") {
    constexpr int ranks = 3;
    std::ostringstream said[ranks];
    comm::run_as_threads(ranks, [&](comm::Communicator& rank) {
        Log log(said[rank.rank()], Verbosity::verbose, rank.rank(), "");
        StartUp start_up;
        if (rank.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(200));
        start_up.ended("join");
        StartUpReport report(start_up, rank, log);
        report.on_step({});
        report.on_step({});
    });
    CHECK(count(said[0].str(), "\n") == 1);
    CHECK(said[0].str().starts_with("start-up took "));
    REQUIRE(count(said[0].str(), ", join ") == 1);
    const std::string join = said[0].str().substr(said[0].str().find(", join "));
    CHECK(count(join.substr(0, join.find(')')), "(rank 2: ") == 1);
    CHECK(count(said[0].str(), ", first step ") == 1);
    CHECK(said[1].str().empty());
}

TEST_CASE("a verbose run says where its start-up went, from the process to the first step") {
    const ScratchFolder scratch;
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 40);
    REQUIRE(run_line("lockstep prepare --input " + (scratch / "train.txt") + " --out " +
                     (scratch / "data"))
                .code == 0);
    const std::string train = "multiprocessing_train --distributed-world-size 2 --data " +
                              (scratch / "data") +
                              " --n-layers 1 --embedding-size 16 --ffn-size 16 -bs 4"
                              " --max-train-steps 2 -mf ";
    const ProgramResult verbose = run_line(train + (scratch / "verbose") + " --verbose");
    REQUIRE(verbose.code == 0);
    CHECK(count(verbose.out, "start-up took ") == 1);
    std::size_t at = verbose.out.find("start-up took ");
    for (const char* part : {": program ", ", place ", ", data ", ", join ", ", watch ", ", model ",
                             ", first step "}) {
        CAPTURE(part);
        at = verbose.out.find(part, at);
        REQUIRE(at != std::string::npos);
    }
    const ProgramResult usual = run_line(train + (scratch / "usual"));
    REQUIRE(usual.code == 0);
    CHECK(count(usual.out, "start-up") == 0);
}
