// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/philox.hpp"
#include "runtime/core/view.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::tests {

// Returns uniform numbers in [-scale, scale], rounded to T.
template <class T>
std::vector<T> random_numbers(std::int64_t count, std::uint64_t key, double scale = 1) {
    PhiloxStream stream(key);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values)
        value = static_cast<T>(static_cast<float>(scale * (2 * stream.uniform() - 1)));
    return values;
}

template <class T>
std::vector<T> numbers(std::initializer_list<double> values) {
    std::vector<T> result;
    for (const double value : values) result.push_back(static_cast<T>(static_cast<float>(value)));
    return result;
}

template <class T>
double to_double(T value) {
    return double{static_cast<float>(value)};
}

template <class T>
std::vector<double> to_doubles(const std::vector<T>& values) {
    std::vector<double> result;
    for (const T& value : values) result.push_back(to_double(value));
    return result;
}

template <class T>
HostMatrix<T> matrix_of(std::vector<T>& values, std::int64_t rows, std::int64_t cols) {
    return {values.data(), rows, cols};
}
template <class T>
HostView<const T> const_view_of(const std::vector<T>& values) {
    return {values.data(), values.size()};
}

// Returns (f(x + h) - f(x - h)) / 2h for the variable that `x` refers to.
template <class Function>
double central_difference(double& x, const Function& f, double h = 1e-5) {
    const double at = x;
    x = at + h;
    const double above = f();
    x = at - h;
    const double below = f();
    x = at;
    return (above - below) / (2 * h);
}

// Makes distinct rows and positions for `count` tokens.
struct Coordinates {
    explicit Coordinates(std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            rows.push_back(static_cast<std::uint32_t>(100 + i / 3));
            positions.push_back(static_cast<std::int32_t>(i % 3));
        }
    }
    kernels::TokenCoordinates<HostSpace> view() const {
        return {const_view_of(rows), const_view_of(positions)};
    }

    std::vector<std::uint32_t> rows;
    std::vector<std::int32_t> positions;
};

}  // namespace lockstep::tests
