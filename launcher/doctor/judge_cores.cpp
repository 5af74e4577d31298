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

std::vector<CoreLimit> limits_of(const RankFacts& rank) {
    std::vector<CoreLimit> limits{binding_limit(rank.host, rank.processor.cores)};
    limits.insert(limits.end(), rank.core_limits.begin(), rank.core_limits.end());
    return limits;
}

struct Quota {
    double cores = 0;
    Sharing sharing;
};

// Returns the control groups with a quota, with their ranks.
std::map<std::uint64_t, Quota> quotas(const Facts& facts) {
    std::map<std::uint64_t, Quota> found;
    const auto threads = threads_of(facts);
    for (std::size_t i = 0; i < facts.ranks.size(); ++i) {
        for (const CoreLimit& limit : facts.ranks[i].core_limits) {
            if (limit.kind != CoreLimit::Kind::control_group) continue;
            Quota& quota = found[limit.id];
            quota.cores = limit.cores;
            quota.sharing.ranks.push_back(facts.ranks[i].rank);
            quota.sharing.threads += threads[i];
        }
    }
    return found;
}

void judge_quota(const Facts& facts, std::vector<Finding>& found) {
    Grouped over(facts, Severity::warns, "cores");
    for (const auto& [id, quota] : quotas(facts)) {
        const auto& [ranks, threads] = quota.sharing;
        const auto count = static_cast<std::int64_t>(ranks.size());
        if (static_cast<double>(threads) <= quota.cores) continue;
        std::string advice = "raise the container's CPU limit";
        if (count > 1) advice += ", or start fewer ranks in it";
        if (threads > count)
            advice +=
                ", or give --threads " + std::to_string(std::max<std::int64_t>(
                                             1, static_cast<std::int64_t>(quota.cores) / count));
        for (const int rank : ranks)
            over.add(rank,
                     "the control group allows the time of " + digits(quota.cores) +
                         (quota.cores == 1 ? " core, for " : " cores, for ") +
                         counted(threads, "thread", "threads") +
                         (count > 1 ? " of " + std::to_string(count) + " ranks" : ""),
                     advice);
    }
    append(found, over.findings());
}

}  // namespace

std::vector<std::int64_t> threads_of(const Facts& facts) {
    std::vector<std::vector<CoreLimit>> limits;
    for (const RankFacts& one : facts.ranks) limits.push_back(limits_of(one));
    const std::vector<ThreadShare> shares = thread_shares(limits);
    std::vector<std::int64_t> threads;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const std::int64_t asked = facts.ranks[i].threads;
        threads.push_back(asked > 0 ? asked : shares[i].threads);
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
