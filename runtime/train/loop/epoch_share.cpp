// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/epoch_share.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace lockstep::train {
namespace {

constexpr int places = 15;
constexpr std::uint64_t parts_of_epoch = 1'000'000'000'000'000;
constexpr std::uint64_t parts_of_tolerance = parts_of_epoch / 1'000;  // of a row

// More are of no run, and products of these do not overflow.
constexpr double most_epochs = 0x1p40, most_rows = 0x1p62;

// The shortest text that is read as this number is what the user wrote.
std::string_view scientific(double number, std::array<char, 32>& buffer) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                   std::chars_format::scientific)
                         .ptr;
    return {buffer.data(), end};
}

}  // namespace

EpochShare::EpochShare(double epochs) noexcept {
    if (!(epochs > 0)) return;
    std::array<char, 32> buffer;
    const std::string_view text = scientific(std::min(epochs, most_epochs), buffer);
    const std::size_t mark = text.find('e');
    int exponent = 0;
    const char* sign = text.data() + mark + 1;
    std::from_chars(*sign == '+' ? sign + 1 : sign, text.data() + text.size(), exponent);
    exponent += places;
    for (std::size_t i = 0; i < mark; ++i) {
        if (text[i] == '.') continue;
        parts_ = parts_ * 10 + static_cast<unsigned>(text[i] - '0');
        if (i > 0) --exponent;
    }
    for (; exponent > 0; --exponent) parts_ *= 10;
    for (; exponent < -1; ++exponent) parts_ /= 10;
    if (exponent == -1) parts_ = (parts_ + 5) / 10;
    parts_ = std::max<Parts>(parts_, 1);
}

std::int64_t EpochShare::rows(std::int64_t rows_per_epoch) const noexcept {
    const Parts wanted = parts_ * static_cast<Parts>(std::max<std::int64_t>(rows_per_epoch, 1));
    if (wanted <= parts_of_epoch) return 1;
    const Parts rows = (wanted - parts_of_tolerance + parts_of_epoch - 1) / parts_of_epoch;
    return static_cast<std::int64_t>(std::min(rows, static_cast<Parts>(most_rows)));
}

std::int64_t EpochShare::completed(std::int64_t rows, std::int64_t rows_per_epoch) const noexcept {
    const Parts one = parts_ * static_cast<Parts>(std::max<std::int64_t>(rows_per_epoch, 1));
    const Parts done = static_cast<Parts>(rows) * parts_of_epoch + parts_of_tolerance;
    return static_cast<std::int64_t>(std::min(done / one, static_cast<Parts>(most_rows)));
}

double epochs_at(const Position& position, std::int64_t rows_per_epoch) noexcept {
    const auto rows = static_cast<double>(
        std::clamp<std::int64_t>(position.rows_in_epoch, 0, rows_per_epoch - 1));
    const auto all = static_cast<double>(rows_per_epoch);
    // One division gives the number that is nearest to the fraction.
    return (static_cast<double>(position.epoch) * all + rows) / all;
}

std::int64_t rows_at(double epochs, std::int64_t rows_per_epoch) noexcept {
    const double rows = epochs * static_cast<double>(rows_per_epoch);
    return rows < most_rows ? std::llround(rows) : static_cast<std::int64_t>(most_rows);
}

}  // namespace lockstep::train
