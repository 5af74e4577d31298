// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/ladder/climb.hpp"

namespace lockstep::launcher::ladder {

// What is climbed, for the heading.
struct Subject {
    std::string model;  // its kind
    std::int64_t parameters = 0;
    Host host;
    double epochs = 1, seconds = 0;  // of each rung, at most
    std::int64_t rows = 0;           // of the split `train`
};

// The table in the order in which its lines are known.
std::string heading(const Subject& subject, const std::vector<Rung>& rungs);
std::string line(const Outcome& outcome, const Work& work, const std::vector<Rung>& rungs);
// `command`: the fastest one.
std::string closing(const Climb& climb, const Work& work, const std::vector<std::string>& command);

// The same as one document.
std::string table_json(const Subject& subject, const Climb& climb, const Work& work,
                       const std::vector<std::string>& command);

}  // namespace lockstep::launcher::ladder
