// SPDX-License-Identifier: Apache-2.0
#include "data/text/read_progress.hpp"

#include <algorithm>
#include <cstdio>

namespace lockstep::data {
namespace {

constexpr double seconds_between_lines = 0.2;

}  // namespace

std::string one_decimal(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

ReadProgress::ReadProgress(Log& log, std::string what, std::uint64_t total_bytes)
    : log_(log), what_(std::move(what)), total_bytes_(total_bytes) {}

void ReadProgress::add(std::uint64_t bytes) {
    bytes_ += bytes;
    const auto now = Clock::now();
    if (seconds_between(shown_, now) < seconds_between_lines) return;
    shown_ = now;
    const std::uint64_t percent =
        std::min<std::uint64_t>(100 * bytes_ / std::max<std::uint64_t>(total_bytes_, 1), 100);
    log_.progress(what_ + ": " + std::to_string(percent) + " %, " + one_decimal(megabytes_per_s()) +
                  " MB/s");
}

void ReadProgress::finish() {
    log_.info(what_ + ": " + one_decimal(static_cast<double>(bytes_) / 1e6) + " MB at " +
              one_decimal(megabytes_per_s()) + " MB/s");
}

double ReadProgress::megabytes_per_s() const {
    const double seconds = std::max(seconds_between(begin_, Clock::now()), 1e-6);
    return static_cast<double>(bytes_) / 1e6 / seconds;
}

}  // namespace lockstep::data
