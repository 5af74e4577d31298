// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

// Something is reported as slow when it is this many times slower than expected. Pairs on one host
// share cores, so their factor must be larger.
constexpr double host_pair_factor = 2;
constexpr double rank_pair_factor = 4;
constexpr double interface_factor = 4;
constexpr double link_factor = 10;
constexpr double ring_factor = 10;
constexpr double slow_network = 60e6;  // bytes per second: half of gigabit Ethernet
constexpr std::size_t pairs_for_a_median = 3;

using Rate = double PairRate::*;

double median(std::vector<PairRate> pairs, Rate rate) {
    const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 2);
    std::nth_element(pairs.begin(), middle, pairs.end(),
                     [&](const auto& a, const auto& b) { return a.*rate < b.*rate; });
    return (*middle).*rate;
}

std::string named(const Facts& facts, const PairRate& pair) {
    const std::string a = host_of(facts, pair.first), b = host_of(facts, pair.second);
    if (a != b) return "between " + a + " and " + b;
    return "between rank " + std::to_string(pair.first) + " and " + std::to_string(pair.second) +
           " on " + a;
}

// Returns the speed of the interface at which the rank is reached; 0 when it does not report one.
double interface_rate(const Facts& facts, int rank) {
    const RankFacts* found = find_rank(facts, rank);
    if (found == nullptr) return 0;
    for (const Interface& one : found->interfaces) {
        if (std::find(one.addresses.begin(), one.addresses.end(), found->address) !=
            one.addresses.end())
            return static_cast<double>(one.mbit_per_s) * 1e6 / 8;
    }
    return 0;
}

// Tells whether ranks take turns on cores and therefore wait for one another. Another check reports
// this.
bool crowded(const Facts& facts) {
    std::map<std::pair<std::string, std::vector<int>>, std::size_t> ranks;
    for (const RankFacts& one : facts.ranks) ++ranks[{one.host, one.processor.cores}];
    return std::any_of(ranks.begin(), ranks.end(),
                       [](const auto& group) { return group.second > group.first.second.size(); });
}

struct Judged {
    const Facts& facts;
    std::vector<Finding>& found;

    void add(const PairRate& pair, const std::string& what, const std::string& advice) const {
        found.push_back({Severity::warns, "rates", named(facts, pair), what, advice});
    }
};

void judge_links(const Judged& judged, const std::vector<PairRate>& pairs) {
    constexpr const char* advice =
        "look for errors on the cable, the switch and both interfaces (ip -s link), or leave the "
        "host out";
    const double usual = pairs.size() < pairs_for_a_median ? 0 : median(pairs, &PairRate::link);
    for (const PairRate& pair : pairs) {
        const double first = interface_rate(judged.facts, pair.first);
        const double second = interface_rate(judged.facts, pair.second);
        const double promised = first > 0 && second > 0 ? std::min(first, second) : 0;
        if (pair.link <= 0) {
            judged.add(pair, "plain TCP could not be measured", advice);
        } else if (pair.link < usual / host_pair_factor) {
            judged.add(pair,
                       "TCP carries " + rate_text(pair.link) +
                           ", where the median pair of hosts has " + rate_text(usual),
                       advice);
        } else if (pair.link < promised / interface_factor) {
            judged.add(pair,
                       "TCP carries " + rate_text(pair.link) + " over interfaces of " +
                           rate_text(promised),
                       advice);
        } else if (pair.link < slow_network) {
            judged.add(
                pair,
                "TCP carries " + rate_text(pair.link) + ", less than half of gigabit Ethernet",
                "choose a faster network by --interface; else look for errors on the cable "
                "and both interfaces (ip -s link)");
        }
    }
}

void judge_all_reduce(const Judged& judged, const std::vector<PairRate>& pairs, double factor) {
    const double usual =
        pairs.size() < pairs_for_a_median ? 0 : median(pairs, &PairRate::all_reduce);
    const double link = pairs.empty() ? 0 : median(pairs, &PairRate::link);
    for (const PairRate& pair : pairs) {
        // judge_links() reports a slow link.
        if (pair.all_reduce >= usual / factor || pair.link < link / host_pair_factor) continue;
        judged.add(pair,
                   "an all-reduce carries " + rate_text(pair.all_reduce) +
                       ", where the median pair has " + rate_text(usual),
                   "look for other programs on these cores (top)");
    }
}

void judge_against_link(const Judged& judged, const std::vector<PairRate>& pairs) {
    for (const PairRate& pair : pairs) {
        if (pair.all_reduce >= pair.link / link_factor) continue;
        judged.add(pair,
                   "an all-reduce carries " + rate_text(pair.all_reduce) + ", TCP alone " +
                       rate_text(pair.link),
                   "see that both take the same network (--interface), and that no other program "
                   "has these cores");
    }
}

// Judges pairs of different hosts only. Pairs within one host measure the cores, which another
// check judges.
void judge_ring(const Facts& facts, const std::vector<PairRate>& host_pairs,
                std::vector<Finding>& found) {
    double slowest = std::numeric_limits<double>::max();
    for (const PairRate& pair : host_pairs) slowest = std::min(slowest, pair.all_reduce);
    if (host_pairs.empty() || facts.ring >= slowest / ring_factor) return;
    found.push_back(
        {Severity::warns, "rates", "the ring of all ranks",
         "carries " + rate_text(facts.ring) + ", its slowest pair alone " + rate_text(slowest),
         "number the ranks host by host (srun --distribution=block), and look for "
         "hosts that share one cable"});
}

}  // namespace

std::vector<Finding> judge_rates(const Facts& facts) {
    std::vector<Finding> found;
    if (facts.cannot_compute_together) {
        found.push_back({Severity::breaks, "rates", where(facts, {0}),
                         "the ranks cannot work together: " + facts.not_measured, ""});
    }
    std::vector<PairRate> hosts, ranks;
    for (const PairRate& pair : facts.pairs) {
        const bool one_host = host_of(facts, pair.first) == host_of(facts, pair.second);
        (one_host ? ranks : hosts).push_back(pair);
    }
    const Judged judged{facts, found};
    judge_links(judged, hosts);
    judge_all_reduce(judged, hosts, host_pair_factor);
    judge_against_link(judged, hosts);
    if (crowded(facts)) return found;
    judge_all_reduce(judged, ranks, rank_pair_factor);
    judge_ring(facts, hosts, found);
    return found;
}

}  // namespace lockstep::launcher::doctor
