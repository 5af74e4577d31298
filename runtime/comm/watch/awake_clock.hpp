// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "runtime/core/trace.hpp"

namespace lockstep::comm {

// Measures time in which this process can run. Time in which it is suspended (SIGSTOP, a frozen
// control group, `scontrol suspend`) does not count. One thread uses it.
class AwakeClock {
public:
    // The thread looks at the clock more often than every `longest_gap`; a longer time between two
    // looks counts as this gap.
    explicit AwakeClock(std::chrono::milliseconds longest_gap) : longest_gap_(longest_gap) {}

    // Returns the time since the clock was made.
    std::chrono::milliseconds now() {
        const auto looked = Clock::now();
        passed_ += std::min<Clock::duration>(looked - looked_, longest_gap_);
        looked_ = looked;
        return std::chrono::duration_cast<std::chrono::milliseconds>(passed_);
    }

private:
    std::chrono::milliseconds longest_gap_;
    Clock::time_point looked_ = Clock::now();
    Clock::duration passed_{0};
};

}  // namespace lockstep::comm
