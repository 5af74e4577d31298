// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Describes a part of a step's time. time_parts() returns the parts in the order in which they are
// stacked.
struct TimePart {
    const char* name;
    const char* seconds;  // name in metrics.jsonl; nullptr: the remaining time
    int colour;
    const char* remedy;  // remedy when the part is large
};
std::vector<TimePart> time_parts();

// These functions return the seconds of each part, for one bin of the training lines or for the
// whole run.
std::vector<double> seconds_of_bin(const History& history, std::size_t bin);
std::vector<double> seconds_of_run(const History& history);

// Returns each part's share of the sum of the parts; 0 when the sum is 0.
std::vector<double> shares_of(const std::vector<double>& parts);

std::string time_legend();

}  // namespace lockstep::launcher::report
