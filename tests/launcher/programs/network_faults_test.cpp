// SPDX-License-Identifier: Apache-2.0
// Networks that lose, delay or reset what ranks send each other, ranks that come late, and
// strangers that connect. A run ends well, or ends with one message that names the right rank.
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/launcher/programs/disturbed_run.hpp"
#include "tests/support/needs.hpp"

using namespace lockstep::tests;

namespace {

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

struct Fault {
    std::string name;
    std::string event;  // happens in the network; empty: none
};

// Runs three ranks once for each fault.
std::vector<DisturbedEnd> run_all(const std::vector<Fault>& faults, const std::string& options) {
    const DisturbedData data;
    std::vector<DisturbedEnd> ends(faults.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < faults.size(); ++i) {
        threads.emplace_back([&, i] {
            ends[i] = DisturbedRun(data, "distributed_train", options)
                          .run_by("timeout 600 bash tests/launcher/programs/faulty_network.sh " +
                                  faults[i].name);
        });
    }
    threads.clear();
    return ends;
}

void check_disturbed(const DisturbedEnd& end, const Fault& fault) {
    CHECK(count(end.result.out, "left 0\n") == 1);
    if (fault.event.empty()) return;
    CHECK(count(end.result.out, "\n" + fault.event + " ") == 1);
    CHECK(count(end.result.out, "\n" + fault.event + " 0\n") == 0);
}

}  // namespace

TEST_CASE(
    "a run goes on over a network that loses, delays and resets, with late ranks and strangers" *
    doctest::test_suite(needs_tunnels)) {
    const std::vector<Fault> faults = {{"loss", "lost"},
                                       {"delay", "delayed"},
                                       {"reset", "reset"},
                                       {"late", ""},
                                       {"scanner", "scanned"}};
    const auto ends = run_all(faults, " --max-train-time 8");
    for (std::size_t i = 0; i < faults.size(); ++i) {
        CAPTURE(faults[i].name);
        CAPTURE(ends[i].result.out);
        CAPTURE(ends[i].result.err);
        CHECK(count(ends[i].result.out, " code 0\n") == 3);
        CHECK(count(ends[i].result.out, "training ended") == 1);
        CHECK(count(ends[i].result.out, "the run has failed") == 0);
        check_disturbed(ends[i], faults[i]);
    }
}

TEST_CASE(
    "a rank that hears but is not heard, one that does not hear, and one whose connections end "
    "are named" *
    doctest::test_suite(needs_tunnels)) {
    const std::vector<Fault> faults = {{"mute", "cut"}, {"deaf", "cut"}, {"reset_all", "reset"}};
    const auto ends = run_all(faults, "");
    for (std::size_t i = 0; i < faults.size(); ++i) {
        CAPTURE(faults[i].name);
        CAPTURE(ends[i].result.out);
        CAPTURE(ends[i].result.err);
        CHECK(count(ends[i].result.out, "the run has failed") == 1);
        CHECK(count(ends[i].result.out, " code ") == 3);
        CHECK(count(ends[i].result.out, " code 3\n") >= 2);
        CHECK(count(ends[i].result.out, " code 0\n") == 0);
        check_disturbed(ends[i], faults[i]);
        REQUIRE(ends[i].failure.is_object());
        CHECK(ends[i].failure["rank"] == 1);
        CHECK(ends[i].failure["cause"] == (faults[i].event == "reset" ? "lost" : "silent"));
    }
}

TEST_CASE("a rank that never comes is named by those that wait for it" *
          doctest::test_suite(needs_tunnels)) {
    const DisturbedEnd end = run_all({{"never", ""}}, "").front();
    CAPTURE(end.result.out);
    CAPTURE(end.result.err);
    CHECK(count(end.result.out, " code 0\n") == 0);
    CHECK(count(end.result.out, " code ") == 2);
    CHECK(count(end.result.out, "left 0\n") == 1);
    CHECK(count(end.result.err, "missing: rank 2") >= 1);  // the other may end with rank 0's store
}
