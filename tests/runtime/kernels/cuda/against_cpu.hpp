// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include "tests/support/close.hpp"
#include "tests/support/on_device.hpp"

// These functions compare CUDA's results with those of the CPU's fp32 kernels on the same values.
namespace lockstep::tests {

template <class T>
std::vector<float> widened(const std::vector<T>& values) {
    std::vector<float> result;
    for (const T& value : values) result.push_back(static_cast<float>(value));
    return result;
}

// Requires that the values are close; close() explains terms and magnitude.
template <class T>
void require_close(const std::vector<T>& actual, const std::vector<float>& expected,
                   std::int64_t terms = 1, double magnitude = 1) {
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        CAPTURE(i);
        REQUIRE(close(to_double(actual[i]), double{expected[i]}, dtype_of<T>, terms, magnitude));
    }
}

// These numbers of columns fill vectors, do not fill vectors, or exceed what the threads of a block
// or a warp take at once.
constexpr std::int64_t awkward_columns[] = {1, 8, 31, 33, 64, 1000, 2056};

}  // namespace lockstep::tests
