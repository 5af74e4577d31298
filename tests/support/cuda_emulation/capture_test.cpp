// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include "runtime/device/cuda/cuda_graph.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace kernels::cuda;

namespace {

void add_kernel(int* values, int amount) { values[threadIdx.x] += amount; }

// Runs `call`, which must fail with `error`, during a capture. Returns the result of ending the
// capture.
template <class Call>
cudaError_t end_after(device::CudaContext& ctx, cudaError_t error, const Call& call) {
    cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal);
    CHECK(call() == error);
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(ctx.stream(), &graph);
    cudaGraphDestroy(graph);
    return ended;
}

}  // namespace

TEST_CASE("an emulated graph keeps the arguments of its launches, not what they point to") {
    device::CudaContext ctx(0);
    const OnDevice<int> values(ctx, {0, 0});
    int amount = 3;
    const device::CudaGraph graph(ctx, [&] {
        launch(ctx, add_kernel, {1, 2}, values.data(), amount);
    });
    amount = 100;
    CHECK(values.values() == std::vector<int>{0, 0});
    graph.launch(ctx);
    launch(ctx, add_kernel, {1, 1}, values.data(), 1);
    graph.launch(ctx);
    CHECK(values.values() == std::vector<int>{7, 6});
}

TEST_CASE("an emulated capture is broken by calls that wait, allocate or use the default stream") {
    device::CudaContext ctx(0);
    const device::Event event = device::make_event();
    void* memory = nullptr;
    const auto breaks = [&](cudaError_t error, const auto& call) {
        CHECK(end_after(ctx, error, call) == cudaErrorStreamCaptureInvalidated);
    };
    const auto unsupported = cudaErrorStreamCaptureUnsupported;
    breaks(unsupported, [&] { return cudaMalloc(&memory, 4); });
    breaks(unsupported, [&] { return cudaMallocHost(&memory, 4); });
    breaks(unsupported, [&] { return cudaFree(&memory); });
    breaks(unsupported, [&] { return cudaDeviceSynchronize(); });
    breaks(unsupported, [&] { return cudaStreamSynchronize(ctx.copy_stream()); });
    breaks(unsupported, [&] { return cudaEventSynchronize(event.raw()); });
    breaks(unsupported, [&] { return cudaEventQuery(event.raw()); });
    breaks(cudaErrorStreamCaptureImplicit, [&] { return cudaEventRecord(event.raw(), nullptr); });
    breaks(cudaErrorStreamCaptureImplicit, [&] { return cudaMemset(memory, 0, 0); });
    breaks(cudaErrorStreamCaptureIsolation, [&] {
        cudaEventRecord(event.raw(), ctx.copy_stream());
        return cudaStreamWaitEvent(ctx.stream(), event.raw(), 0);
    });
}

TEST_CASE("an emulated capture takes in the streams that wait for it, and wants them back") {
    device::CudaContext ctx(0);
    const device::Event event = device::make_event();
    const OnDevice<int> values(ctx, {0});
    const auto status_of = [](cudaStream_t stream) {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        cudaStreamIsCapturing(stream, &status);
        return status;
    };
    const auto fork = [&] {
        ctx.order(ctx.stream(), ctx.copy_stream());
        CHECK(status_of(ctx.copy_stream()) == cudaStreamCaptureStatusActive);
        CHECK(status_of(ctx.communication_stream()) == cudaStreamCaptureStatusNone);
        cudaMemsetAsync(values.data(), 1, sizeof(int), ctx.copy_stream());
        CHECK(cudaEventRecord(event.raw(), ctx.copy_stream()) == cudaSuccess);
    };
    const auto too_early = [&] {
        fork();
        cudaMemsetAsync(values.data(), 0, sizeof(int), ctx.copy_stream());
        return cudaStreamWaitEvent(ctx.stream(), event.raw(), 0);
    };
    CHECK(end_after(ctx, cudaSuccess, too_early) == cudaErrorStreamCaptureUnjoined);
    const auto joined = [&] {
        fork();
        return cudaStreamWaitEvent(ctx.stream(), event.raw(), 0);
    };
    CHECK(end_after(ctx, cudaSuccess, joined) == cudaSuccess);
    const auto without_work = [&] {
        ctx.order(ctx.stream(), ctx.copy_stream());
        return cudaSuccess;
    };
    CHECK(end_after(ctx, cudaSuccess, without_work) == cudaSuccess);
    CHECK(status_of(ctx.copy_stream()) == cudaStreamCaptureStatusNone);
    CHECK(values.values() == std::vector<int>{0});
    CHECK(cudaEventQuery(event.raw()) == cudaErrorCapturedEvent);
    CHECK(cudaStreamWaitEvent(ctx.stream(), event.raw(), 0) == cudaErrorCapturedEvent);
}
