// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/device_work.hpp"

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <optional>
#include <sstream>
#include <thread>

#include "runtime/device/cuda/cuda_graph.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace kernels::cuda;
using cuda_emulation::DeviceWork;
using cuda_emulation::given_by;
using cuda_emulation::Transfers;

namespace {

using Counts = std::map<std::string, std::int64_t>;

void one_kernel(int* to) { ++*to; }
template <class T>
void other_kernel(T* to, T value) {
    *to += value;
}

}  // namespace

TEST_CASE("emulated work is counted by kernel, whatever its template arguments") {
    device::CudaContext ctx(0);
    const OnDevice<int> value(ctx, {0});
    const OnDevice<float> other(ctx, {0});
    const DeviceWork work = given_by([&] {
        for (int i = 0; i < 3; ++i) launch(ctx, one_kernel, {1, 1}, value.data());
        launch(ctx, other_kernel<int>, {1, 1}, value.data(), 2);
        launch(ctx, other_kernel<float>, {1, 1}, other.data(), 2.0f);
        launch(ctx, one_kernel, {0, 1}, value.data());  // a launch without blocks
    });
    CHECK(work.kernels ==
          Counts{{"device_work_test/one_kernel", 3}, {"device_work_test/other_kernel", 2}});
    CHECK(work.launches() == 5);
    CHECK(work.launches("device_work_test/one") == 3);
    CHECK(work.pieces() == 5);
    CHECK(work.calls == Counts{{"cudaLaunchKernelEx", 5}});
    CHECK(value.values()[0] == 5);
    std::ostringstream text;
    text << work;
    CHECK(text.str().starts_with("5 kernels\n  3 device_work_test/one_kernel\n"));
}

TEST_CASE("emulated copies are counted by direction, fills apart, with their bytes") {
    device::CudaContext ctx(0);
    const OnDevice<int> from(ctx, {1, 2, 3, 4}), to(ctx, {0, 0, 0, 0});
    const device::PinnedBuffer<int> host(3);
    const auto copy = [&](void* target, const void* source, std::size_t count) {
        cudaMemcpyAsync(target, source, count * sizeof(int), cudaMemcpyDefault, ctx.stream());
    };
    const DeviceWork work = given_by([&] {
        copy(to.data() + 1, host.view().data(), 3);
        copy(host.view().data(), from.data(), 2);
        copy(host.view().data(), from.data(), 1);
        copy(to.data(), from.data() + 3, 1);
        cudaMemsetAsync(to.data(), 0, 16, ctx.stream());
    });
    CHECK(work.uploads == Transfers{1, 12});
    CHECK(work.downloads == Transfers{2, 12});
    CHECK(work.device_copies == Transfers{1, 4});
    CHECK(work.fills == Transfers{1, 16});
    CHECK(work.launches() == 0);
    CHECK(work.pieces() == 5);
    CHECK(work.host_calls() == 5);
    ctx.synchronize();
}

TEST_CASE("an emulated graph counts as what it holds each time it is launched, by one call") {
    device::CudaContext ctx(0);
    const OnDevice<int> value(ctx, {0});
    std::optional<device::CudaGraph> graph;
    const DeviceWork captured = given_by([&] {
        graph.emplace(ctx, [&] {
            launch(ctx, one_kernel, {1, 1}, value.data());
            cudaMemsetAsync(value.data(), 0, 4, ctx.stream());
            launch(ctx, one_kernel, {1, 1}, value.data());
        });
    });
    CHECK(captured.pieces() == 0);
    CHECK(captured.calls.at("cudaLaunchKernelEx") == 2);
    const DeviceWork launched = given_by([&] {
        graph->launch(ctx);
        graph->launch(ctx);
    });
    CHECK(launched.kernels == Counts{{"device_work_test/one_kernel", 4}});
    CHECK(launched.fills == Transfers{2, 8});
    CHECK(launched.calls == Counts{{"cudaGraphLaunch", 2}});
    ctx.synchronize();
}

TEST_CASE("emulated work is counted for the thread that asked, and only while it asked") {
    CHECK_THROWS_AS(given_by([] { throw 1; }), int);
    const DeviceWork work = given_by([&] {
        CHECK_THROWS_AS(given_by([] {}), Error);
        std::thread([] {
            device::CudaContext other(0);
            const OnDevice<int> elsewhere(other, {0});
            launch(other, one_kernel, {1, 1}, elsewhere.data());
            other.synchronize();
        }).join();
    });
    CHECK(work.pieces() == 0);
    CHECK(work.host_calls() == 0);
}
