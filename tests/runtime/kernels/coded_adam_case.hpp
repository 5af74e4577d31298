// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "runtime/kernels/optimizers.hpp"
#include "tests/support/numbers.hpp"

namespace lockstep::tests {

// A moment in int8 in host memory, at first 0.
struct HostMoment {
    HostMoment(std::size_t elements, kernels::DynamicMap m)
        : map(m),
          codes(elements, kernels::code_of_zero(m)),
          scales(kernels::moment_scales(elements)) {}

    kernels::CodedMoment<HostSpace> view() { return {view_of(codes), view_of(scales)}; }
    std::vector<float> decoded() const {
        std::vector<float> values(codes.size());
        kernels::decode_moments(map, view_of(codes), view_of(scales), view_of(values));
        return values;
    }

    kernels::DynamicMap map;
    std::vector<std::uint8_t> codes;
    std::vector<float> scales;
};

// Requires the moments to be equal but for rounding: where a value lies between two shares, either
// is right, which happens to few.
inline void require_same_moment(const HostMoment& moment, const HostMoment& expected) {
    for (std::size_t i = 0; i < expected.scales.size(); ++i)
        REQUIRE(std::fabs(moment.scales[i] - expected.scales[i]) <= 1e-5f * expected.scales[i]);
    std::size_t other = 0;
    for (std::size_t i = 0; i < moment.codes.size(); ++i) {
        REQUIRE(std::abs(int{moment.codes[i]} - int{expected.codes[i]}) <= 1);
        other += moment.codes[i] != expected.codes[i] ? 1 : 0;
    }
    REQUIRE(other <= 1 + moment.codes.size() / 500);
}

// Requires the moment to be `values` in int8, but for rounding.
inline void require_coded(const HostMoment& moment, const std::vector<float>& values) {
    HostMoment expected(values.size(), moment.map);
    kernels::encode_moments(moment.map, view_of(values), view_of(expected.codes),
                            view_of(expected.scales));
    require_same_moment(moment, expected);
}

}  // namespace lockstep::tests
