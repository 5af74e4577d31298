// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/core/core_times.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::launcher {

// Returns one line that says how many of a rank's cores other processes take, and what helps.
std::string taken_cores_line(double taken, int threads);

// Tells once, by a line, that other processes leave fewer cores than a rank has threads. The times
// are compared every few seconds, from the first look on.
class TakenCoresNotice {
public:
    using Say = std::function<void(const std::string&)>;
    using Read = std::function<std::optional<CoreTimes>()>;
    using Now = std::function<Clock::time_point()>;

    TakenCoresNotice(
        int threads, Say say, Read read = [] { return core_times(); }, Now now = Clock::now);

    // Call it often while the rank computes; most calls only look at the clock.
    void look();

private:
    void compare(const CoreTimes& before, const CoreTimes& now, double passed_s);

    const int threads_;
    const Say say_;
    const Read read_;
    const Now now_;
    bool told_ = false;
    std::optional<Clock::time_point> begin_;
    std::optional<CoreTimes> times_;  // at begin_
};

}  // namespace lockstep::launcher
