// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/step_times.hpp"

#include <cmath>
#include <utility>

namespace lockstep::comm {

namespace {

std::int64_t microseconds(double seconds) { return std::llround(seconds * 1e6); }

}  // namespace

void Pace::add(std::int64_t step, double data_s, double computing_s, double optimizer_s) {
    ++steps_;
    sums_.data_us += microseconds(data_s);
    sums_.computing_us += microseconds(computing_s);
    sums_.optimizer_us += microseconds(optimizer_s);
    if (step % window_steps != 0) return;
    // A run that was continued may begin in the middle of a window.
    const bool whole = std::exchange(steps_, 0) == window_steps;
    WindowPace window = std::exchange(sums_, {});
    window.last_step = step;
    const std::lock_guard lock(mutex_);
    if (whole) last_ = window;
}

WindowPace Pace::last() const {
    const std::lock_guard lock(mutex_);
    return last_;
}

}  // namespace lockstep::comm
