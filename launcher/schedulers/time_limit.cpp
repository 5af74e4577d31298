// SPDX-License-Identifier: Apache-2.0
#include "launcher/schedulers/time_limit.hpp"

#include <cstdlib>
#include <vector>

namespace lockstep::launcher {

namespace {

std::vector<std::int64_t> numbers_of(const std::string& text) {
    std::vector<std::int64_t> numbers;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(':', at), text.size());
        numbers.push_back(std::strtoll(text.substr(at, end - at).c_str(), nullptr, 10));
        at = end + 1;
    }
    return numbers;
}

std::string two_digits(std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
}

}  // namespace

std::int64_t time_limit_s(const std::string& time) {
    if (time.empty()) return 0;
    const std::size_t dash = time.find('-');
    const bool has_days = dash != std::string::npos;
    std::vector<std::int64_t> parts = numbers_of(has_days ? time.substr(dash + 1) : time);
    // Behind days the first number is of hours; of one or two numbers alone the first is minutes.
    if (!has_days && parts.size() < 3) parts.insert(parts.begin(), 0);
    parts.resize(3);
    const std::int64_t days = has_days ? std::strtoll(time.c_str(), nullptr, 10) : 0;
    return ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2];
}

std::string wall_time(std::int64_t seconds) {
    return two_digits(seconds / 3600) + ":" + two_digits(seconds / 60 % 60) + ":" +
           two_digits(seconds % 60);
}

}  // namespace lockstep::launcher
