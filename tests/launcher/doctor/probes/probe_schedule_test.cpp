// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/probe_schedule.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <set>

#include "launcher/doctor/facts_json.hpp"
#include "launcher/doctor/probes/rates.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "tests/launcher/doctor/sound_facts.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

// Each once, and nobody twice in a round.
void check_rounds(int count) {
    CAPTURE(count);
    std::set<Pair> seen;
    for (const auto& round : rounds_of_pairs(count, 1'000)) {
        std::set<int> busy;
        for (const auto& [a, b] : round) {
            CHECK(a < b);
            CHECK(b < count);
            CHECK(busy.insert(a).second);
            CHECK(busy.insert(b).second);
            CHECK(seen.insert({a, b}).second);
        }
    }
    CHECK(static_cast<int>(seen.size()) == count * (count - 1) / 2);
}

}  // namespace

TEST_CASE("every pair meets once, in rounds that disturb nobody") {
    for (int count = 1; count <= 9; ++count) check_rounds(count);
    CHECK(rounds_of_pairs(100, 15).size() == 15);
}

TEST_CASE("hosts are measured by their lowest ranks, then the ranks of each host") {
    const Facts facts = sound_facts(3, 2);
    const auto hosts = hosts_of(stands_of(facts.ranks));
    REQUIRE(hosts.size() == 3);
    CHECK(hosts[1].name == "n2");
    CHECK(hosts[1].ranks == std::vector<int>{2, 3});
    const auto rounds = measuring_rounds(hosts);
    REQUIRE(rounds.size() == 4);
    for (int i = 0; i < 3; ++i) CHECK(rounds[static_cast<std::size_t>(i)].size() == 1);
    CHECK(rounds.back() == std::vector<Pair>{{0, 1}, {2, 3}, {4, 5}});
}

TEST_CASE("many ranks of a host are measured around their ring only") {
    const auto rounds = measuring_rounds(hosts_of(stands_of(sound_facts(1, 8).ranks)));
    CHECK(rounds.size() == 8);
}

TEST_CASE("an all-reduce is measured alike on every rank") {
    std::mutex mutex;
    std::set<double> rates;
    comm::run_as_threads(3, [&](comm::Communicator& communicator) {
        const double rate = all_reduce_rate(communicator);
        const std::lock_guard lock(mutex);
        rates.insert(rate);
    });
    CHECK(rates.size() == 1);
    CHECK(*rates.begin() > 0);
}

TEST_CASE("what ranks tell each other arrives as it was") {
    Facts facts = sound_facts();
    facts.sights[0].shards[0].problem = "caf\xe9: damaged";  // not UTF-8
    CHECK(encode(decode_rank(encode(facts.ranks[1]))) == encode(facts.ranks[1]));
    CHECK(encode(decode_sight(encode(facts.sights[1]))) == encode(facts.sights[1]));
    CHECK_FALSE(decode_sight(encode(facts.sights[0])).shards[0].problem.empty());
    CHECK(decode_rates(encode(facts.pairs)).front().link == facts.pairs.front().link);
    CHECK(report_json(facts, judge(facts)).find("\"verdict\"") != std::string::npos);
}
