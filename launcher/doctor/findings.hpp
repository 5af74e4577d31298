// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// `breaks`: the run would fail. `warns`: the run would work, but slower or less safely than
// possible. `notes`: the finding is information only.
enum class Severity { breaks, warns, notes };
const char* name(Severity severity) noexcept;

struct Finding {
    Severity severity = Severity::notes;
    std::string check;   // "gpu", "network", ...
    std::string where;   // "rank 4-7 on n2"
    std::string what;    // the problem
    std::string advice;  // the remedy; empty: none
};

// Returns the problems in the facts; the worst come first. A pure function: it does not query the
// host.
std::vector<Finding> judge(const Facts& facts);

// Summarises the findings in one line.
std::string verdict(const std::vector<Finding>& findings);
bool would_break(const std::vector<Finding>& findings);

// Returns the number of threads that each of facts.ranks would compute with.
std::vector<std::int64_t> threads_of(const Facts& facts);

// judge() calls these functions. The files judge_*.cpp define them, by subject.
std::vector<Finding> judge_ranks(const Facts& facts);
std::vector<Finding> judge_cores(const Facts& facts);
std::vector<Finding> judge_groups(const Facts& facts);
std::vector<Finding> judge_memory(const Facts& facts);
std::vector<Finding> judge_versions(const Facts& facts);
std::vector<Finding> judge_gpus(const Facts& facts);
std::vector<Finding> judge_software(const Facts& facts);
std::vector<Finding> judge_shapes(const Facts& facts);
std::vector<Finding> judge_network(const Facts& facts);
std::vector<Finding> judge_folder(const Facts& facts);
std::vector<Finding> judge_data(const Facts& facts);
std::vector<Finding> judge_rates(const Facts& facts);

}  // namespace lockstep::launcher::doctor
