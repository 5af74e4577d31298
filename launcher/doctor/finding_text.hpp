// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launcher/doctor/findings.hpp"

// These helper functions serve the judge_*() functions.
namespace lockstep::launcher::doctor {

// Names ranks and their hosts: "every rank", "rank 4-7 on n2".
std::string where(const Facts& facts, const std::vector<int>& ranks);

// Groups the ranks for which one check finds the same. Each different text becomes one finding.
class Grouped {
public:
    Grouped(const Facts& facts, Severity severity, std::string check)
        : facts_(facts), severity_(severity), check_(std::move(check)) {}

    void add(int rank, const std::string& what, const std::string& advice) {
        ranks_[{what, advice}].push_back(rank);
    }
    std::vector<Finding> findings() const;

private:
    const Facts& facts_;
    Severity severity_;
    std::string check_;
    std::map<std::pair<std::string, std::string>, std::vector<int>> ranks_;
};

void append(std::vector<Finding>& all, const std::vector<Finding>& more);

const RankFacts* find_rank(const Facts& facts, int rank);
std::string host_of(const Facts& facts, int rank);  // "rank 4" when its host is not known

}  // namespace lockstep::launcher::doctor
