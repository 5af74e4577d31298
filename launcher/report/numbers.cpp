// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "launcher/doctor/units.hpp"

namespace lockstep::launcher::report {

namespace {

std::string digits(double value, std::chars_format format, int precision) {
    std::array<char, 64> text;
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, format, precision).ptr;
    return {text.data(), end};
}

}  // namespace

std::string number_text(double value) {
    const double size = std::abs(value);
    if (size < 999.95 || size > 1e15) return digits(value, std::chars_format::general, 4);
    return doctor::grouped(std::llround(value));
}

std::string tick_text(double value) {
    constexpr std::array suffixes{"", "k", "M", "G", "T"};
    std::size_t thousands = 0;
    for (; std::abs(value) >= 999.95 && thousands + 1 < suffixes.size(); ++thousands) value /= 1000;
    return digits(value, std::chars_format::general, 5) + suffixes[thousands];
}

std::string percent_text(double share) {
    const double percent = 100 * share;
    const int decimals = std::abs(percent) < 99.95 && percent != 0 ? 1 : 0;
    return digits(percent, std::chars_format::fixed, decimals) + " %";
}

std::string coordinate(double position) {
    std::string text = digits(position, std::chars_format::fixed, 1);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text == "-0" ? "0" : text;
}

std::optional<double> number_of(std::string_view word) {
    double value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return value;
}

}  // namespace lockstep::launcher::report
