// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/axis.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::launcher::report {

namespace {

constexpr int max_ticks = 6;
constexpr double max_filled = 2.5;  // maximum decades with ticks at 2 and 5
// Values may miss a tick by this share because of rounding, also by fp32's.
constexpr double rounding = 1e-6;

// Returns the smallest of 1, 2, 5, 10, 20, ... that is not below `value`. `value` must be positive.
double round_up(double value) {
    const double ten = std::pow(10, std::floor(std::log10(value)));
    for (const double digit : {1.0, 2.0, 5.0}) {
        if (value <= digit * ten * (1 + rounding)) return digit * ten;
    }
    return 10 * ten;
}

double round_down(double value) {
    const double ten = std::pow(10, std::floor(std::log10(value) + rounding));
    for (const double digit : {5.0, 2.0}) {
        if (value >= digit * ten * (1 - rounding)) return digit * ten;
    }
    return ten;
}

// Returns the multiples of `step` in [low, high].
std::vector<double> multiples(double low, double high, double step) {
    std::vector<double> ticks;
    const double last = std::floor(high / step + rounding);
    for (double i = std::ceil(low / step - rounding); i <= last; ++i)
        ticks.push_back(i * step + 0.0);  // the sum turns -0 into 0
    return ticks;
}

// Widens a range whose values are all the same.
void widen(double& low, double& high) {
    const double size = std::max(std::abs(low), std::abs(high));
    if (high - low > size * rounding) return;
    const double room = size > 0 ? size / 10 : 1;
    low -= room;
    high += room;
}

Axis linear(Scale scale, double low, double high) {
    if (scale == Scale::from_zero) {
        low = std::min(low, 0.0);
        high = std::max(high, low == 0 && high <= 0 ? 1.0 : high);
    }
    widen(low, high);
    const double step = round_up((high - low) / (max_ticks - 1));
    low = step * std::floor(low / step + rounding);
    high = step * std::ceil(high / step - rounding);
    return {scale, low, high, multiples(low, high, step)};
}

Axis logarithmic(double low, double high) {
    low = round_down(low);
    high = round_up(high);
    if (low >= high) high = round_up(low * 1.5);
    Axis axis{Scale::logarithmic, low, high, {}};
    const double decades = std::log10(high / low);
    const double every = std::ceil(decades / max_ticks);
    for (double ten = std::floor(std::log10(low) + rounding); ten <= std::log10(high) + rounding;
         ten += every) {
        for (const double digit : {1.0, 2.0, 5.0}) {
            const double tick = digit * std::pow(10, ten);
            const bool inside = tick >= low * (1 - rounding) && tick <= high * (1 + rounding);
            if (inside && (digit == 1 || decades <= max_filled)) axis.ticks.push_back(tick);
        }
    }
    constexpr std::size_t fewest_ticks = 4;
    if (decades < 1 && axis.ticks.size() < fewest_ticks)
        axis.ticks = multiples(low, high, round_up((high - low) / (max_ticks - 1)));
    return axis;
}

}  // namespace

double Axis::share(double value) const {
    if (scale == Scale::logarithmic) return std::log(value / low) / std::log(high / low);
    return (value - low) / (high - low);
}

Axis value_axis(Scale scale, double low, double high) {
    return scale == Scale::logarithmic ? logarithmic(low, high) : linear(scale, low, high);
}

Axis step_axis(double last_step) {
    const double high = std::max(last_step, 1.0);
    const double step = std::max(1.0, round_up(high / max_ticks));
    return {Scale::linear, 0, high, multiples(0, high, step)};
}

Axis axis_until(double last) {
    const double high = last > 0 ? last : 1;
    return {Scale::linear, 0, high, multiples(0, high, round_up(high / max_ticks))};
}

}  // namespace lockstep::launcher::report
