// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_clock.hpp"

#include <doctest/doctest.h>

#include "runtime/device/cuda/cuda_context.hpp"

using namespace lockstep;

TEST_CASE("marks are told in the order of the stream, also the oldest that are remembered") {
    device::CudaContext ctx(0);
    auto& clock = ctx.cached<device::CudaClock>();
    const auto before = Clock::now();
    const std::int64_t first = clock.mark(ctx.stream());
    std::int64_t last = first;
    while (last - first + 1 < device::CudaClock::max_marks) last = clock.mark(ctx.stream());
    CHECK(clock.time_of(first) <= clock.time_of(last));
    CHECK(clock.time_of(first) - before < std::chrono::hours(1));

    clock.mark(ctx.stream());
    CHECK_THROWS_AS(clock.time_of(first), Error);
    CHECK_THROWS_AS(clock.time_of(last + 2), Error);
}
