// SPDX-License-Identifier: Apache-2.0
// These tests need the emulated device, because they control its time.
#include <doctest/doctest.h>

#include "runtime/device/cuda/cuda_clock.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

using namespace lockstep;
using std::chrono::seconds;

TEST_CASE("marks of a step keep their distances, however long steps take") {
    device::CudaContext ctx(0);
    auto& clock = ctx.cached<device::CudaClock>();
    const auto mark_after = [&](int passed) {
        ctx.synchronize();
        emulated_device_work(static_cast<float>(1000 * passed));
        return clock.mark(ctx.stream());
    };
    const auto distance = [&](std::int64_t from, std::int64_t to) {
        const auto end = clock.time_of(to);  // the end first, as a step asks for it
        return std::chrono::round<std::chrono::milliseconds>(end - clock.time_of(from));
    };
    std::int64_t begin = mark_after(1), end = mark_after(20);
    for (int step = 0; step < 5; ++step) {
        const std::int64_t next_begin = mark_after(1), next_end = mark_after(20);
        CHECK(distance(begin, end) == seconds(20));
        CHECK(distance(begin, end) == seconds(20));
        begin = next_begin;
        end = next_end;
    }
}
