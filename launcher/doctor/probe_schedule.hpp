// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/doctor/facts.hpp"

namespace lockstep::launcher::doctor {

// Where a rank is and answers.
struct RankEndpoint {
    int rank = 0;
    std::string host, address;
    int probe_port = 0;
};
std::vector<RankEndpoint> stands_of(const std::vector<RankFacts>& ranks);

// The ranks of one host; the lowest speaks for it.
struct HostGroup {
    std::string name;
    std::vector<int> ranks;  // ascending

    int leader() const { return ranks.front(); }
};
// In the order of their leaders.
std::vector<HostGroup> hosts_of(const std::vector<RankEndpoint>& stands);

using Pair = std::pair<int, int>;
// Pairs out of 0..count-1 in rounds: in one round each is in one pair at most, so that no pair
// disturbs another. Every pair once where that takes no more than `max_rounds`, else a part.
std::vector<std::vector<Pair>> rounds_of_pairs(int count, int max_rounds);

// What is measured together: pairs of ranks that share no host and no link.
std::vector<std::vector<Pair>> measuring_rounds(const std::vector<HostGroup>& hosts);

// What rank 0 tells all once it has heard from all.
struct Plan {
    std::vector<RankEndpoint> stands;    // by rank
    std::string token;                   // of the probes
    std::string trial_path, trial_text;  // of the file that rank 0 wrote; empty: none
};

}  // namespace lockstep::launcher::doctor
