// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>

namespace lockstep::comm {

// Holds the time that a rank spent on its own work in one window of steps, excluding waits for
// other ranks.
struct WindowPace {
    std::int64_t last_step = 0;  // last step of the window; 0: no window yet
    std::int64_t data_us = 0, computing_us = 0, optimizer_us = 0;

    std::int64_t total_us() const noexcept { return data_us + computing_us + optimizer_us; }
};

// Sums the times of a rank's steps by window. The windows end at the same steps on every rank. One
// thread adds, another reads.
class Pace {
public:
    static constexpr std::int64_t window_steps = 50;

    void add(std::int64_t step, double data_s, double computing_s, double optimizer_s);
    // Returns the last complete window.
    WindowPace last() const;

private:
    std::int64_t steps_ = 0;
    WindowPace sums_;
    mutable std::mutex mutex_;
    WindowPace last_;  // the mutex guards it
};

}  // namespace lockstep::comm
