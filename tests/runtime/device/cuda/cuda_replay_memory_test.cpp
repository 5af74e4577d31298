// SPDX-License-Identifier: Apache-2.0
// These tests need the emulated device, because they take as much of its memory as they like.
#include <doctest/doctest.h>

#include "runtime/device/cuda/cuda_replay.hpp"

using namespace lockstep;
using device::Queued;

TEST_CASE("work is captured where memory is left for a graph, and else queued call by call") {
    device::CudaContext ctx(0);
    ctx.cached<device::GraphSettings>().max_graphs = 8;
    device::Replay<device::CudaContext> replay(ctx);
    const auto run = [&] { return replay.run({1}, 0, [] {}); };
    emulated_foreign_memory(std::size_t{900} << 20);
    for (int time = 0; time < 3; ++time) CHECK(run() == Queued::call_by_call);
    emulated_foreign_memory(0);
    CHECK(run() == Queued::at_once);
    emulated_foreign_memory(std::size_t{900} << 20);
    CHECK(run() == Queued::at_once);  // the graph exists already
    emulated_foreign_memory(0);
}
