// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_context.hpp"

#include <doctest/doctest.h>

#include "runtime/device/arena.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using device::CudaContext;

TEST_CASE("a GPU's properties are known, and an unknown GPU is refused with call, GPU and place") {
    CudaContext ctx(0);
    CHECK(ctx.properties().compute_capability >= 80);
    CHECK(ctx.properties().multiprocessors > 0);
    CHECK(ctx.properties().max_shared_bytes >= 48 << 10);
    CHECK(ctx.properties().l2_bytes > 0);
    try {
        CudaContext missing(10'000);
        FAIL("made");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::cuda);
        const std::string text = error.what();
        CHECK(text.find("cuda_context.cpp:") != std::string::npos);
        CHECK(text.find("cudaSetDevice failed on GPU ") != std::string::npos);
    }
}

TEST_CASE("a GPU's buffers are zeroed, moved without copying, and copied to and from") {
    CudaContext ctx(0);
    device::Buffer<float, CudaSpace> buffer(100);
    std::vector<float> values(100, 1.0f);
    device::copy(ctx, CudaView<const float>(buffer.view()), view_of(values));
    ctx.synchronize();
    CHECK(values == std::vector<float>(100, 0.0f));
    const float* data = buffer.view().data();
    const auto moved = std::move(buffer);
    CHECK(moved.view().data() == data);

    device::PinnedBuffer<float> pinned(100);
    for (std::size_t i = 0; i < 100; ++i) pinned.view()[i] = static_cast<float>(i);
    device::copy(ctx, HostView<const float>(pinned.view()), moved.view());
    const OnDevice other(ctx, values);
    device::copy(ctx, CudaView<const float>(moved.view()), other.view());
    CHECK(other.values()[99] == 99.0f);
    CHECK_THROWS_AS(device::copy(ctx, other.const_view(), moved.view().subview(0, 1)), Error);
}

TEST_CASE("a GPU without room says what to do, and goes on") {
    const CudaContext ctx(0);
    CHECK_THROWS_WITH_AS((void)device::allocate_cuda(std::size_t{1} << 60),
                         doctest::Contains("GPU 0 has no room for 1099511627776 MiB more"), Error);
    CHECK_NOTHROW(device::Buffer<float, CudaSpace>(10));
}

TEST_CASE("launches are sized so that they repeat") {
    CHECK(CudaContext::launch_size(0, 8) == 0);
    CHECK(CudaContext::launch_size(1, 8) == 8);
    CHECK(CudaContext::launch_size(64, 8) == 64);
    CHECK(CudaContext::launch_size(65, 8) == 128);
}

TEST_CASE("a GPU's arena and scratch memory") {
    CudaContext ctx(0);
    device::Arena<CudaSpace> arena;
    const auto a = arena.take<float>(5), b = arena.take<float>(7);
    CHECK(b.data() >= a.data() + 5);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
    const auto large = ctx.scratch<double>(1000);
    CHECK(ctx.scratch<float>(10).data() == reinterpret_cast<float*>(large.data()));
    const OnDevice<double> x(ctx, std::vector<double>(2000, 2.0));
    device::copy(ctx, x.const_view(), ctx.scratch<double>(2000));
    ctx.order(ctx.stream(), ctx.communication_stream());
    ctx.synchronize();
}
