// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/comm/watch/watch_verdict.hpp"

namespace lockstep::comm {

// A rank that holds up the others.
struct Straggler {
    int rank = 0;
    std::string host;
    WindowPace window;
    double slower = 0;       // than the median rank: 0.25 is a quarter more time
    const char* phase = "";  // that makes the most of the difference
};

// Compares what ranks needed for their own work, each window once, and names a rank once.
class Stragglers {
public:
    // Those newly found; none before all ranks have told of the same window.
    std::vector<Straggler> look(const std::vector<Sighting>& ranks);

private:
    std::int64_t seen_ = 0;  // last step of the last window compared
    std::set<int> named_;
};

}  // namespace lockstep::comm
