// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/ladder/climb.hpp"

namespace lockstep::launcher::ladder {

// Describes what is measured, for the heading.
struct Subject {
    std::string model;  // kind of the model
    std::int64_t parameters = 0;
    Host host;
    double epochs = 1, seconds = 0;  // maximum of each rung
    std::int64_t rows = 0;           // rows of the split `train`
};

// Each function returns a part of the table. The order is that in which the parts become known.
std::string heading(const Subject& subject, const std::vector<Rung>& rungs);
std::string line(const Outcome& outcome, const Work& work, const std::vector<Rung>& rungs);
// `command` is the fastest one.
std::string closing(const Climb& climb, const Work& work, const std::vector<std::string>& command);

}  // namespace lockstep::launcher::ladder
