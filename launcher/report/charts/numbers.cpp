// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "launcher/text/units.hpp"

namespace lockstep::launcher::report {

namespace {

std::string digits(double value, std::chars_format format, int precision) {
    std::array<char, 64> text;
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, format, precision).ptr;
    return {text.data(), end};
}

// Shortens "2e-04" to "2e-4" and "1e+20" to "1e20".
std::string short_exponent(std::string text) {
    const std::size_t at = text.find('e');
    if (at == std::string::npos) return text;
    if (text[at + 1] == '+') text.erase(at + 1, 1);
    const std::size_t digit = text.find_first_of("0123456789", at);
    if (text[digit] == '0') text.erase(digit, 1);
    return text;
}

}  // namespace

std::string number_text(double value) {
    const double size = std::abs(value);
    if (size < 999.95 || size > 1e15)
        return short_exponent(digits(value, std::chars_format::general, 4));
    return grouped(std::llround(value));
}

std::string tick_text(double value) {
    constexpr std::array suffixes{"", "k", "M", "G", "T"};
    std::size_t thousands = 0;
    for (; std::abs(value) >= 999.95 && thousands + 1 < suffixes.size(); ++thousands) value /= 1000;
    std::string text = digits(value, std::chars_format::general, 5);
    constexpr std::size_t longest = 5;
    if (text.size() > longest && std::abs(value) < 1) {
        const double ten = std::floor(std::log10(std::abs(value)));
        text = digits(value / std::pow(10, ten), std::chars_format::general, 5) + "e" +
               digits(ten, std::chars_format::fixed, 0);
    }
    return short_exponent(text) + suffixes[thousands];
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
