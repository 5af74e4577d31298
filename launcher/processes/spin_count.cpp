// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/spin_count.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::launcher {

int spin_count(Nanoseconds pause) noexcept {
    constexpr double spinning_ns = 12'000, fewest = 100, most = 2'000;
    return static_cast<int>(std::clamp(spinning_ns / pause.count(), fewest, most));
}

// The shortest of several measurements is one during which no other process took the core.
Nanoseconds measured_pause() noexcept {
    constexpr int measurements = 5, pauses = 64;
    Nanoseconds shortest(std::numeric_limits<double>::max());
    for (int i = 0; i < measurements; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        for (int pause = 0; pause < pauses; ++pause) __builtin_ia32_pause();
        shortest = std::min(shortest, Nanoseconds(std::chrono::steady_clock::now() - begin));
    }
    return shortest / pauses;
}

}  // namespace lockstep::launcher
