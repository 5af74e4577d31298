// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/comm/watch/watch_verdict.hpp"

namespace lockstep::comm {

// Describes a rank that delays the others.
struct Straggler {
    int rank = 0;
    std::string host;
    WindowPace window;
    double slower = 0;       // excess over the median rank: 0.25 is a quarter more time
    const char* phase = "";  // the phase with the largest part of the excess
};

// Compares the times that ranks needed for their own work, each window once, and names each rank at
// most once.
class Stragglers {
public:
    // Returns newly found stragglers; none before all ranks have reported the same window.
    std::vector<Straggler> look(const std::vector<Sighting>& ranks);

private:
    std::int64_t seen_ = 0;  // last step of the last window compared
    std::set<int> named_;
};

}  // namespace lockstep::comm
