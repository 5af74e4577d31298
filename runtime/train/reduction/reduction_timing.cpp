// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/reduction_timing.hpp"

#include <algorithm>

namespace lockstep::train {

std::optional<double> hidden_share(double bucket_blocked_s, double bucket_s) noexcept {
    if (bucket_s <= 0) return std::nullopt;
    return std::clamp(1 - bucket_blocked_s / bucket_s, 0.0, 1.0);
}

double seconds_within(const std::vector<Wait>& waits, Clock::time_point begin,
                      Clock::time_point end) noexcept {
    double seconds = 0;
    for (const Wait& wait : waits)
        seconds +=
            std::max(0.0, seconds_between(std::max(begin, wait.begin), std::min(end, wait.end)));
    return seconds;
}

}  // namespace lockstep::train
