// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// A rank runs on this host and answers at this address and port.
struct RankEndpoint {
    int rank = 0;
    std::string host, address;
    int probe_port = 0;
};
std::vector<RankEndpoint> stands_of(const std::vector<RankFacts>& ranks);

// Holds the ranks of one host. The lowest rank represents the host.
struct HostGroup {
    std::string name;
    std::vector<int> ranks;  // ascending

    int leader() const { return ranks.front(); }
};
// Groups the ranks by host, in the order of the hosts' leaders.
std::vector<HostGroup> hosts_of(const std::vector<RankEndpoint>& stands);

using Pair = std::pair<int, int>;
// Returns pairs of 0..count-1 in rounds. Each number is in at most one pair of a round, so that no
// pair disturbs another. Every pair appears once when that needs at most `max_rounds` rounds,
// otherwise only a part of them appears.
std::vector<std::vector<Pair>> rounds_of_pairs(int count, int max_rounds);

// Returns the pairs of ranks that are measured at the same time. Pairs of one round share no host
// and no link.
std::vector<std::vector<Pair>> measuring_rounds(const std::vector<HostGroup>& hosts);

// Rank 0 sends this plan to all ranks once it has heard from all of them.
struct Plan {
    std::vector<RankEndpoint> stands;    // index: rank
    std::string token;                   // token of the probes
    std::string trial_path, trial_text;  // the file that rank 0 wrote; empty: none
};

}  // namespace lockstep::launcher::doctor
