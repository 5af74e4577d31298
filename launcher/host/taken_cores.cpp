// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/taken_cores.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace lockstep::launcher {

std::string taken_cores_line(double taken, int threads) {
    char cores[32];
    std::snprintf(cores, sizeof cores, "%.1f", taken);
    const std::string what = "other processes take about " + std::string(cores) + " of ";
    if (threads == 1) return what + "this rank's 1 core: end them, or run where a core is free";
    const int left = std::clamp(static_cast<int>(std::floor(threads - taken)), 1, threads - 1);
    return what + "this rank's " + std::to_string(threads) + " cores: end them, or try --threads " +
           std::to_string(left);
}

TakenCoresNotice::TakenCoresNotice(int threads, Say say, Read read, Now now)
    : threads_(threads), say_(std::move(say)), read_(std::move(read)), now_(std::move(now)) {}

void TakenCoresNotice::look() {
    constexpr std::chrono::seconds window(5);
    if (told_) return;
    const auto now = now_();
    if (begin_ && now - *begin_ < window) return;
    const auto times = read_();
    if (times && times_) compare(*times_, *times, seconds_between(*begin_, now));
    begin_ = now;
    times_ = times;
}

void TakenCoresNotice::compare(const CoreTimes& before, const CoreTimes& now, double passed_s) {
    // A machine without other work has that much of it.
    constexpr double noise_cores = 0.3, noise_share = 0.03;
    const double taken = threads_ - (now.cores - cores_of_others(before, now, passed_s));
    if (taken < std::max(noise_cores, noise_share * threads_)) return;
    told_ = true;
    say_(taken_cores_line(taken, threads_));
}

}  // namespace lockstep::launcher
