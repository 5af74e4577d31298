// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "runtime/core/core_times.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::kernels::cpu {

// Says how many of a context's threads share a kernel's work: all of them, or one alone while other
// processes leave no more than one core to them. Threads that take turns on a core are slower than
// one that has it, because each waits for the others at the end of every kernel.
class TeamSize {
public:
    using Read = std::function<std::optional<CoreTimes>()>;
    using Now = std::function<Clock::time_point()>;

    explicit TeamSize(
        Read read = [] { return core_times(); }, Now now = Clock::now);

    // Call it for each kernel. It reads the times of the cores soon after the start, because a
    // reply takes less than a second, and then a few times a second.
    int of(int threads);

private:
    const Read read_;
    const Now now_;
    std::optional<CoreTimes> times_;  // at begin_
    Clock::time_point begin_;
    bool looked_ = false, alone_ = false;
};

}  // namespace lockstep::kernels::cpu
