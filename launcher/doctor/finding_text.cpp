// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/finding_text.hpp"

#include <algorithm>

#include "launcher/text/units.hpp"
#include "runtime/comm/store/store_join.hpp"

namespace lockstep::launcher::doctor {

std::string where(const Facts& facts, const std::vector<int>& ranks) {
    constexpr int max_runs = 8;
    std::vector<std::string> hosts;
    for (const int rank : ranks) {
        const RankFacts* found = find_rank(facts, rank);
        if (found != nullptr && std::find(hosts.begin(), hosts.end(), found->host) == hosts.end())
            hosts.push_back(found->host);
    }
    const bool every = static_cast<int>(ranks.size()) == facts.size && facts.size > 1;
    const std::string who = every ? "every rank" : "rank " + comm::short_list(ranks, max_runs);
    return hosts.empty() ? who : who + " on " + joined(hosts);
}

std::vector<Finding> Grouped::findings() const {
    std::vector<Finding> found;
    for (const auto& [text, ranks] : ranks_)
        found.push_back({severity_, check_, where(facts_, ranks), text.first, text.second});
    return found;
}

void append(std::vector<Finding>& all, const std::vector<Finding>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

const RankFacts* find_rank(const Facts& facts, int rank) {
    const auto found = std::find_if(facts.ranks.begin(), facts.ranks.end(),
                                    [&](const RankFacts& one) { return one.rank == rank; });
    return found == facts.ranks.end() ? nullptr : &*found;
}

std::string host_of(const Facts& facts, int rank) {
    const RankFacts* found = find_rank(facts, rank);
    return found == nullptr ? "rank " + std::to_string(rank) : found->host;
}

}  // namespace lockstep::launcher::doctor
