// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace lockstep::launcher {

namespace {

std::string scaled(double value, double step, const std::vector<const char*>& units) {
    std::size_t unit = 0;
    while (std::abs(value) >= step && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    return digits(value) + " " + units[unit];
}

}  // namespace

std::string digits(double value) {
    std::array<char, 48> text{};
    const double size = std::abs(value);
    const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    std::string shown = text.data();
    if (shown.find('.') == std::string::npos) return shown;
    shown.erase(shown.find_last_not_of('0') + 1);
    if (shown.ends_with('.')) shown.pop_back();
    return shown;
}

std::string bytes_text(std::int64_t bytes) {
    if (bytes == unlimited) return "unlimited";
    return scaled(static_cast<double>(bytes), 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string count_text(std::int64_t count) {
    return count == unlimited ? "unlimited" : std::to_string(count);
}

std::string grouped(std::int64_t count) {
    std::string text = std::to_string(count);
    const std::size_t sign = count < 0 ? 1 : 0;
    for (std::size_t at = text.size(); at > 3 + sign; at -= 3) text.insert(at - 3, ",");
    return text;
}

std::string counted(std::int64_t count, const std::string& one, const std::string& more) {
    return grouped(count) + " " + (count == 1 ? one : more);
}

std::string rate_text(double bytes_per_s) {
    return scaled(bytes_per_s / 1e3, 1e3, {"kB/s", "MB/s", "GB/s", "TB/s"});
}

std::string seconds_text(double seconds) {
    return std::abs(seconds) < 1 ? digits(seconds * 1e3) + " ms" : digits(seconds) + " s";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

}  // namespace lockstep::launcher
