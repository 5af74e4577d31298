// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/probe_schedule.hpp"

#include <algorithm>

namespace lockstep::launcher::doctor {

namespace {

constexpr int max_host_rounds = 15;
constexpr int ranks_with_all_pairs = 4;

// Returns the pairs of one host, to be measured one after the other because two pairs at a time
// would share the cores and the memory. A few ranks form all pairs, many ranks only those of
// neighbours in the ring.
std::vector<Pair> pairs_within(const HostGroup& host) {
    const auto& ranks = host.ranks;
    const std::size_t count = ranks.size();
    std::vector<Pair> pairs;
    for (std::size_t a = 0; a < count; ++a) {
        for (std::size_t b = a + 1; b < count; ++b) {
            const bool neighbours = b == a + 1 || (a == 0 && b + 1 == count);
            if (count <= ranks_with_all_pairs || neighbours) pairs.push_back({ranks[a], ranks[b]});
        }
    }
    return pairs;
}

}  // namespace

std::vector<RankEndpoint> stands_of(const std::vector<RankFacts>& ranks) {
    std::vector<RankEndpoint> stands;
    for (const RankFacts& rank : ranks)
        stands.push_back({rank.rank, rank.host, rank.address, rank.probe_port});
    return stands;
}

std::vector<HostGroup> hosts_of(const std::vector<RankEndpoint>& stands) {
    std::vector<HostGroup> hosts;
    for (const RankEndpoint& stand : stands) {
        const auto found = std::find_if(hosts.begin(), hosts.end(), [&](const HostGroup& host) {
            return host.name == stand.host;
        });
        if (found == hosts.end()) {
            hosts.push_back({stand.host, {stand.rank}});
        } else {
            found->ranks.push_back(stand.rank);
        }
    }
    return hosts;
}

// Uses the circle method of tournaments: one element stays, the others move on by one seat each
// round.
std::vector<std::vector<Pair>> rounds_of_pairs(int count, int max_rounds) {
    std::vector<std::vector<Pair>> rounds;
    if (count < 2) return rounds;
    const int seats = count + count % 2;
    for (int round = 0; round < std::min(seats - 1, max_rounds); ++round) {
        std::vector<Pair> pairs;
        for (int i = 0; i < seats / 2; ++i) {
            const int a = i == 0 ? seats - 1 : (round + i) % (seats - 1);
            const int b = (round + seats - 1 - i) % (seats - 1);
            if (a < count && b < count) pairs.push_back(std::minmax(a, b));
        }
        rounds.push_back(std::move(pairs));
    }
    return rounds;
}

std::vector<std::vector<Pair>> measuring_rounds(const std::vector<HostGroup>& hosts) {
    std::vector<std::vector<Pair>> rounds;
    for (const auto& round : rounds_of_pairs(static_cast<int>(hosts.size()), max_host_rounds)) {
        std::vector<Pair> pairs;
        for (const auto& [a, b] : round) {
            pairs.push_back({hosts[static_cast<std::size_t>(a)].leader(),
                             hosts[static_cast<std::size_t>(b)].leader()});
        }
        rounds.push_back(std::move(pairs));
    }
    const std::size_t between_hosts = rounds.size();
    for (const HostGroup& host : hosts) {
        const auto pairs = pairs_within(host);
        if (rounds.size() < between_hosts + pairs.size())
            rounds.resize(between_hosts + pairs.size());
        for (std::size_t i = 0; i < pairs.size(); ++i)
            rounds[between_hosts + i].push_back(pairs[i]);
    }
    return rounds;
}

}  // namespace lockstep::launcher::doctor
