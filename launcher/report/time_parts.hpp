// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// What a step's time is spent on, in the order in which it is stacked.
struct TimePart {
    const char* name;
    const char* seconds;  // in metrics.jsonl; nullptr: what the others leave
    int colour;
    const char* remedy;  // where it is large
};
std::vector<TimePart> time_parts();

// Of each part, for one bin of the training lines or for the whole run.
std::vector<double> seconds_of_bin(const History& history, std::size_t bin);
std::vector<double> seconds_of_run(const History& history);

// Of their sum; 0 where that is 0.
std::vector<double> shares_of(const std::vector<double>& parts);

std::string time_legend();

// The parts' shares over the steps of a run that has training lines.
std::string time_stack(const History& history);

// Where the time of each run went: over the steps, and in all.
std::string time_section(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
