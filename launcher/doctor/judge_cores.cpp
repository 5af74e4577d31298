// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/text/units.hpp"
#include "runtime/comm/store/store_join.hpp"

namespace lockstep::launcher::doctor {

namespace {

using Cores = std::vector<int>;

struct Sharing {
    std::vector<int> ranks;
    std::int64_t threads = 0;
};

// Groups the ranks of one host that are bound to exactly the same cores.
std::map<std::pair<std::string, Cores>, Sharing> sharing(const Facts& facts) {
    std::map<std::pair<std::string, Cores>, Sharing> groups;
    const auto threads = threads_of(facts);
    for (std::size_t i = 0; i < facts.ranks.size(); ++i) {
        const RankFacts& one = facts.ranks[i];
        Sharing& group = groups[{one.host, one.processor.cores}];
        group.ranks.push_back(one.rank);
        group.threads += threads[i];
    }
    return groups;
}

std::string cores_text(const Cores& cores) {
    constexpr int max_runs = 6;
    return comm::short_list(cores, max_runs);
}

Finding crowded(const Facts& facts, const Sharing& group, const Cores& cores) {
    Finding finding{Severity::warns, "cores", where(facts, group.ranks), "", ""};
    if (cores.size() == 1) {
        finding.what = "all bound to the same single core " + cores_text(cores);
        finding.advice =
            "bind each to cores of its own (srun --cpus-per-task, mpirun --bind-to core), or "
            "start fewer";
        return finding;
    }
    finding.what = std::to_string(group.threads) + " computing threads share " +
                   std::to_string(cores.size()) + " cores (" + cores_text(cores) + ")";
    finding.advice = "start fewer ranks a host";
    if (group.threads > static_cast<std::int64_t>(group.ranks.size()))
        finding.advice += ", or give a smaller --threads";
    return finding;
}

// Judges bindings that overlap without being equal.
void judge_host(const Facts& facts, const std::string& host, std::vector<Finding>& found) {
    std::set<int> cores;
    Sharing all;
    for (const auto& [key, group] : sharing(facts)) {
        if (key.first != host) continue;
        cores.insert(key.second.begin(), key.second.end());
        all.ranks.insert(all.ranks.end(), group.ranks.begin(), group.ranks.end());
        all.threads += group.threads;
    }
    std::sort(all.ranks.begin(), all.ranks.end());
    if (all.threads > static_cast<std::int64_t>(cores.size()))
        found.push_back(crowded(facts, all, {cores.begin(), cores.end()}));
}

void judge_quota(const Facts& facts, std::vector<Finding>& found) {
    Grouped over(facts, Severity::warns, "cores");
    const auto threads = threads_of(facts);
    for (std::size_t i = 0; i < facts.ranks.size(); ++i) {
        const double quota = facts.ranks[i].processor.quota;
        if (quota <= 0 || static_cast<double>(threads[i]) <= quota) continue;
        over.add(facts.ranks[i].rank,
                 "the control group allows the time of " + digits(quota) +
                     (quota == 1 ? " core, for " : " cores, for ") +
                     counted(threads[i], "thread", "threads"),
                 "raise the container's CPU limit, or give --threads " +
                     std::to_string(std::max(1, static_cast<int>(quota))));
    }
    append(found, over.findings());
}

}  // namespace

std::vector<std::int64_t> threads_of(const Facts& facts) {
    std::map<std::pair<std::string, Cores>, std::int64_t> ranks;
    for (const RankFacts& one : facts.ranks) ++ranks[{one.host, one.processor.cores}];
    std::map<std::pair<std::string, Cores>, std::int64_t> before;
    std::vector<std::int64_t> threads;
    for (const RankFacts& one : facts.ranks) {
        const std::pair key{one.host, one.processor.cores};
        const auto cores = static_cast<std::int64_t>(one.processor.cores.size());
        const std::int64_t more = before[key]++ < cores % ranks[key] ? 1 : 0;
        const std::int64_t share = std::max<std::int64_t>(1, cores / ranks[key] + more);
        threads.push_back(one.threads > 0 ? one.threads : share);
    }
    return threads;
}

std::vector<Finding> judge_cores(const Facts& facts) {
    std::vector<Finding> found;
    std::set<std::string> told, hosts;
    for (const auto& [key, group] : sharing(facts)) {
        const auto& [host, cores] = key;
        hosts.insert(host);
        if (group.threads <= static_cast<std::int64_t>(cores.size())) continue;
        found.push_back(crowded(facts, group, cores));
        told.insert(host);
    }
    for (const std::string& host : hosts) {
        if (!told.contains(host)) judge_host(facts, host, found);
    }
    judge_quota(facts, found);
    return found;
}

}  // namespace lockstep::launcher::doctor
