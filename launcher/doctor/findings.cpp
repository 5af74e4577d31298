// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/findings.hpp"

#include <algorithm>
#include <cstdint>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/text/units.hpp"
#include "runtime/comm/store/store_join.hpp"

namespace lockstep::launcher::doctor {

const char* name(Severity severity) noexcept {
    switch (severity) {
        case Severity::breaks:
            return "breaks";
        case Severity::warns:
            return "warns";
        case Severity::notes:
            return "notes";
    }
    return "unknown";
}

std::vector<Finding> judge(const Facts& facts) {
    std::vector<Finding> found;
    for (auto* part :
         {judge_ranks, judge_network, judge_data, judge_folder, judge_gpus, judge_software,
          judge_shapes, judge_memory, judge_groups, judge_cores, judge_versions, judge_rates}) {
        append(found, part(facts));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
    return found;
}

bool would_break(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& one) { return one.severity == Severity::breaks; });
}

std::string verdict(const std::vector<Finding>& findings) {
    const auto count = [&](Severity severity) -> std::int64_t {
        return std::count_if(findings.begin(), findings.end(),
                             [&](const Finding& one) { return one.severity == severity; });
    };
    const std::int64_t breaks = count(Severity::breaks), warns = count(Severity::warns);
    const std::string warnings = warns == 0 ? "" : ", " + counted(warns, "warning", "warnings");
    if (breaks > 0)
        return "a run would fail here: " + counted(breaks, "problem", "problems") + warnings;
    return "a run can start" + warnings;
}

std::vector<Finding> judge_ranks(const Facts& facts) {
    std::vector<Finding> found;
    // The problem's text already says what to do.
    if (!facts.problem.empty())
        found.push_back({Severity::breaks, "options", where(facts, {0}), facts.problem, ""});
    std::vector<int> missing;
    for (int rank = 0; rank < facts.size; ++rank) {
        if (find_rank(facts, rank) == nullptr) missing.push_back(rank);
    }
    if (!missing.empty()) {
        found.push_back({Severity::breaks, "ranks", where(facts, missing), "did not come to rank 0",
                         "look for their own lines, which say why; without any they were not "
                         "started, or their host is down"});
    }
    Grouped twice(facts, Severity::warns, "ranks");
    for (const RankFacts& one : facts.ranks) {
        for (const RankFacts& other : facts.ranks) {
            if (one.rank >= other.rank || one.host != other.host ||
                one.local_rank != other.local_rank)
                continue;
            twice.add(other.rank,
                      "has the local rank " + std::to_string(one.local_rank) + " of rank " +
                          std::to_string(one.rank) + ": both would choose the same GPU",
                      "let one launcher start all ranks of a host: srun, mpirun, or "
                      "distributed_launch with --nproc-per-node");
        }
    }
    append(found, twice.findings());
    return found;
}

}  // namespace lockstep::launcher::doctor
