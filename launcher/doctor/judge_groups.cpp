// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

// Tells whether neighbouring ranks from `first` on have come from one host.
bool within_a_host(const Facts& facts, int first, int count) {
    const RankFacts* const one = find_rank(facts, first);
    for (int rank = first; rank < first + count; ++rank) {
        const RankFacts* const other = find_rank(facts, rank);
        if (one != nullptr && other != nullptr && other->host != one->host) return false;
    }
    return true;
}

// Returns the most ranks that can share without the network; 1 if there are none.
int largest_within_hosts(const Facts& facts) {
    for (int count = facts.size; count > 1; --count) {
        if (facts.size % count != 0) continue;
        bool within = true;
        for (int first = 0; within && first < facts.size; first += count)
            within = within_a_host(facts, first, count);
        if (within) return count;
    }
    return 1;
}

std::size_t hosts_of(const Facts& facts, int first, int count) {
    std::set<std::string> hosts;
    for (int rank = first; rank < first + count; ++rank)
        if (const RankFacts* const one = find_rank(facts, rank)) hosts.insert(one->host);
    return hosts.size();
}

std::string what_of(const Facts& facts, int first) {
    const SharedReplicas& shared = facts.shared;
    const std::int64_t bytes = shared.weights_bytes + shared.gradients_bytes;
    return std::to_string(shared.ranks) + " ranks share a replica over " +
           std::to_string(hosts_of(facts, first, shared.ranks)) + " hosts (--zero " +
           std::to_string(shared.stage) + "): in every step " +
           (bytes > 0 ? "each sends " + bytes_text(bytes) + " of weights and gradients to them"
                      : std::string("weights and gradients go")) +
           " over the network";
}

}  // namespace

std::vector<Finding> judge_groups(const Facts& facts) {
    const int sharing = facts.shared.ranks;
    if (sharing < 2) return {};
    const int fitting = largest_within_hosts(facts);
    Grouped found(facts, fitting > 1 ? Severity::warns : Severity::notes, "groups");
    const std::string advice =
        fitting > 1 ? "--zero-ranks " + std::to_string(fitting) +
                          " keeps each replica within a host, if its memory is enough"
                    : "no number of ranks that share lies within a host; a lower --zero sends less";
    for (int first = 0; first + sharing <= facts.size; first += sharing)
        if (!within_a_host(facts, first, sharing))
            for (int rank = first; rank < first + sharing; ++rank)
                if (find_rank(facts, rank) != nullptr)
                    found.add(rank, what_of(facts, first), advice);
    return found.findings();
}

}  // namespace lockstep::launcher::doctor
