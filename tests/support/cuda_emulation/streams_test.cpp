// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <set>

#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace kernels::cuda;

namespace {

constexpr int rounds = 64;

void write_kernel(int* to, int value) { *to = value; }
void move_kernel(const int* from, int* to) { *to = *from; }

}  // namespace

TEST_CASE("an emulated copy reads host memory sooner or later, until it is waited for") {
    device::CudaContext ctx(0);
    const OnDevice<int> value(ctx, {0});
    const device::PinnedBuffer<int> host(1);
    std::set<int> arrived;
    for (int i = 0; i < rounds; ++i) {
        host.view()[0] = 1;
        device::copy(ctx, HostView<const int>(host.view()), value.view());
        host.view()[0] = 2;
        arrived.insert(value.values()[0]);
    }
    CHECK(arrived == std::set<int>{1, 2});
}

TEST_CASE("emulated streams run in any order but the one that events ask for") {
    device::CudaContext ctx(0);
    const OnDevice<int> from(ctx, {0}), to(ctx, {0});
    const auto moved = [&](int round, const auto& order) {
        launch(ctx, write_kernel, {1, 1}, from.data(), round);
        order();
        device::check(cudaMemcpyAsync(to.data(), from.data(), sizeof(int), cudaMemcpyDefault,
                                      ctx.copy_stream()),
                      "cudaMemcpyAsync");
        ctx.synchronize();
        return to.values()[0] == round;
    };
    int without = 0, with = 0;
    for (int i = 1; i <= rounds; ++i) {
        without += moved(2 * i, [] {}) ? 1 : 0;
        with += moved(2 * i + 1, [&] { ctx.order(ctx.stream(), ctx.copy_stream()); }) ? 1 : 0;
    }
    CHECK(without < rounds);
    CHECK(with == rounds);
}

TEST_CASE("an emulated graph in flight outlives its destruction") {
    device::CudaContext ctx(0);
    const OnDevice<int> from(ctx, {7}), to(ctx, {0});
    for (int i = 0; i < rounds; ++i) {
        launch(ctx, write_kernel, {1, 1}, to.data(), 0);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal);
        launch(ctx, move_kernel, {1, 1}, static_cast<const int*>(from.data()), to.data());
        cudaStreamEndCapture(ctx.stream(), &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphDestroy(graph);
        cudaGraphLaunch(exec, ctx.stream());
        cudaGraphExecDestroy(exec);
        CHECK(to.values()[0] == 7);
    }
}

TEST_CASE("emulated events tell a time once both are past, and only those that may") {
    device::CudaContext ctx(0);
    const device::Event begin = device::make_event(device::Timing::on),
                        end = device::make_event(device::Timing::on), none = device::make_event();
    const auto elapsed = [&](const device::Event& to) {
        float milliseconds = -1;
        return std::pair(cudaEventElapsedTime(&milliseconds, begin.raw(), to.raw()), milliseconds);
    };
    cudaEventRecord(begin.raw(), ctx.stream());
    cudaEventRecord(none.raw(), ctx.stream());
    CHECK(elapsed(end).first == cudaErrorInvalidResourceHandle);
    const auto elsewhere = std::make_shared<EmulatedTask>();
    emulated_queue(ctx.stream(), elsewhere);
    cudaEventRecord(end.raw(), ctx.stream());
    CHECK(cudaEventQuery(begin.raw()) == cudaSuccess);
    CHECK(cudaEventQuery(end.raw()) == cudaErrorNotReady);
    CHECK(elapsed(end).first == cudaErrorNotReady);
    emulated_device_work(3);
    elsewhere->done = true;
    cudaEventSynchronize(end.raw());
    CHECK(elapsed(end) == std::pair(cudaSuccess, 3.0f));
    CHECK(elapsed(none).first == cudaErrorInvalidResourceHandle);
}
