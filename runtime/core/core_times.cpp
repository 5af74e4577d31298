// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/core_times.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>

namespace lockstep {

std::optional<CoreTimes> core_times(const std::string& root) {
    cpu_set_t usable;
    CPU_ZERO(&usable);
    timespec own{};
    if (sched_getaffinity(0, sizeof usable, &usable) != 0 ||
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) != 0)
        return std::nullopt;
    const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
    CoreTimes times;
    times.own_s = static_cast<double>(own.tv_sec) + static_cast<double>(own.tv_nsec) * 1e-9;
    std::ifstream file(root + "/proc/stat");
    // The lines of the cores come first, after that of all of them.
    for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
        unsigned core = 0;
        double idle = 0, waiting = 0;
        if (std::sscanf(line.c_str(), "cpu%u %*s %*s %*s %lf %lf", &core, &idle, &waiting) != 3)
            continue;
        if (core >= CPU_SETSIZE || !CPU_ISSET(core, &usable)) continue;
        ++times.cores;
        times.idle_s += (idle + waiting) / ticks_per_s;
    }
    if (times.cores == 0) return std::nullopt;
    return times;
}

double cores_of_others(const CoreTimes& before, const CoreTimes& now, double passed_s) noexcept {
    const double known_s = now.idle_s - before.idle_s + now.own_s - before.own_s;
    return std::clamp(now.cores - known_s / passed_s, 0.0, static_cast<double>(now.cores));
}

}  // namespace lockstep
