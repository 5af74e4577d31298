// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/facts.hpp"

namespace lockstep::launcher::doctor {

// breaks: the run would fail. warns: it would run, slower or less safely than it could. notes: good
// to know.
enum class Severity { breaks, warns, notes };
const char* name(Severity severity) noexcept;

struct Finding {
    Severity severity = Severity::notes;
    std::string check;   // "gpu", "network", ...
    std::string where;   // "rank 4-7 on n2"
    std::string what;    // what is wrong
    std::string advice;  // what to do; empty: nothing
};

// What is wrong with the facts, the worst first. Pure: nothing is asked of the machine.
std::vector<Finding> judge(const Facts& facts);

// In one line.
std::string verdict(const std::vector<Finding>& findings);
bool would_break(const std::vector<Finding>& findings);

// Threads that each of facts.ranks would compute with.
std::vector<std::int64_t> threads_of(const Facts& facts);

// The parts of judge().
std::vector<Finding> judge_ranks(const Facts& facts);
std::vector<Finding> judge_cores(const Facts& facts);
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
