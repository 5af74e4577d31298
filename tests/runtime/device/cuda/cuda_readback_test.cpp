// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_readback.hpp"

#include <doctest/doctest.h>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using device::CudaContext;

TEST_CASE("what is read back is what stood there when it was sent, in that order") {
    CudaContext ctx(0);
    device::Readback<double, CudaContext> readback(ctx);
    const OnDevice value(ctx, std::vector<double>{1});
    for (int round = 0; round < 3; ++round) {
        for (const double next : {2.0, 3.0, 4.0}) {
            device::copy(ctx, HostView<const double>(&next, 1), value.view());
            ctx.synchronize();
            readback.send(value.data());
        }
        for (const double expected : {2.0, 3.0, 4.0}) CHECK(readback.take() == expected);
    }
    CHECK_THROWS_AS(readback.take(), Error);
}

TEST_CASE("a context tells the time of its marks") {
    CudaContext ctx(0);
    device::Stopwatch<CudaContext> watch(ctx);
    const auto first = watch.lap(), second = watch.lap();
    CHECK(first.end.value == second.begin.value);
    CHECK(ctx.time_of(first.begin) <= ctx.time_of(second.end));
}
