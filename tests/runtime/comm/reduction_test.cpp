// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/reduction.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace lockstep;
using namespace lockstep::comm;

TEST_CASE("bf16 is added in fp32 and rounded once, to even") {
    std::vector<bf16> a{bf16(256.0f), bf16(1.0f)};
    const std::vector<bf16> b{bf16(1.0f), bf16(-1.0f)};
    reduce_into(a.data(), b.data(), 2, Dtype::bf16, ReduceOp::sum);
    CHECK(static_cast<float>(a[0]) == 256.0f);  // 257 is half-way between 256 and 258
    CHECK(static_cast<float>(a[1]) == 0.0f);
}

TEST_CASE("a NaN on any rank survives min and max") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto reduction : {ReduceOp::min, ReduceOp::max}) {
        std::vector<float> a{nan, 1.0f};
        const std::vector<float> b{1.0f, nan};
        reduce_into(a.data(), b.data(), 2, Dtype::fp32, reduction);
        CHECK(std::isnan(a[0]));
        CHECK(std::isnan(a[1]));
    }
}

TEST_CASE("even parts cover a range once") {
    std::vector<float> data(10);
    for (const int parts : {1, 3, 4, 10, 13}) {
        float* next = data.data();
        for (int p = 0; p < parts; ++p) {
            const HostRange part = even_part_of(HostRange(view_of(data)), p, parts);
            CHECK(part.data == next);
            next += part.count;
        }
        CHECK(next == data.data() + data.size());
    }
}
