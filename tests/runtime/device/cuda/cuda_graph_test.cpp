// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_graph.hpp"

#include <doctest/doctest.h>

#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/reduce.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using device::CudaContext;
using device::CudaGraph;

namespace {

void fill(CudaContext& ctx, const OnDevice<float>& to, const std::vector<float>& values) {
    device::copy(ctx, view_of(values), to.view());
    ctx.synchronize();
}

}  // namespace

TEST_CASE("a graph runs when it is launched, each time on what is in memory then") {
    CudaContext ctx(0);
    const OnDevice<float> from(ctx, {1, 2, 3, 4}), to(ctx, std::vector<float>(4));
    const OnDevice<kernels::ExactSum> squares(ctx, std::vector<kernels::ExactSum>(1));
    const auto work = [&] {
        kernels::cast<float, float>(ctx, from.const_view(), to.view());
        kernels::add_sum_of_squares(ctx, to.const_view(), squares.view());
    };
    work();
    const CudaGraph graph(ctx, work);
    CHECK(squares.values()[0].value() == 30);
    fill(ctx, from, {5, 0, 0, 1});
    graph.launch(ctx);
    CHECK(to.values() == std::vector<float>{5, 0, 0, 1});
    CHECK(squares.values()[0].value() == 56);
    fill(ctx, from, {0, 0, 2, 0});
    graph.launch(ctx);
    graph.launch(ctx);
    CHECK(squares.values()[0].value() == 64);
}

TEST_CASE("a graph holds products and what other streams do in between") {
    CudaContext ctx(0);
    const OnDevice<float> x(ctx, {1, 2, 3, 4, 5, 6, 7, 8}), w(ctx, {1, 0, 0, 1, 1, 1, 0, 0});
    const OnDevice<float> y(ctx, std::vector<float>(4)), copy(ctx, std::vector<float>(4));
    const auto work = [&] {
        kernels::linear_forward<float>(ctx, CudaMatrix<const float>(x.data(), 2, 4),
                                       CudaMatrix<const float>(w.data(), 2, 4), {},
                                       y.matrix(2, 2, 2));
        ctx.order(ctx.stream(), ctx.copy_stream());
        device::check(cudaMemcpyAsync(copy.data(), y.data(), 4 * sizeof(float), cudaMemcpyDefault,
                                      ctx.copy_stream()),
                      "cudaMemcpyAsync");
        ctx.order(ctx.copy_stream(), ctx.stream());
        kernels::fill_zero(ctx, y.view());
    };
    work();
    const std::vector<float> first = copy.values();
    const CudaGraph graph(ctx, work);
    fill(ctx, x, {2, 4, 6, 8, 10, 12, 14, 16});
    graph.launch(ctx);
    const std::vector<float> second = copy.values();
    CHECK(first == std::vector<float>{5, 3, 13, 11});
    CHECK(second == std::vector<float>{10, 6, 26, 22});
    CHECK(y.values() == std::vector<float>(4));
}

TEST_CASE("a graph names what cannot be in it, and the context goes on") {
    CudaContext ctx(0);
    const OnDevice<float> x(ctx, {1, 2});
    const auto refused = [&](const auto& work, const char* call) {
        CHECK_THROWS_WITH_AS(CudaGraph(ctx, work), doctest::Contains(call), Error);
        fill(ctx, x, {1, 2});
        const CudaGraph graph(ctx, [&] { kernels::fill_zero(ctx, x.view()); });
        CHECK(x.values() == std::vector<float>{1, 2});
        graph.launch(ctx);
        CHECK(x.values() == std::vector<float>{0, 0});
    };
    refused([&] { device::Buffer<float, CudaSpace> buffer(4); }, "cudaMalloc failed");
    refused([&] { ctx.scratch<float>(std::size_t{1} << 20); }, "cudaStreamSynchronize failed");
    refused(
        [&] {
            ctx.order(ctx.stream(), ctx.copy_stream());
            cudaMemsetAsync(x.data(), 0, sizeof(float), ctx.copy_stream());
        },
        "cudaStreamEndCapture failed");
    refused([&] { throw Error(ErrorKind::contract, "work stopped"); }, "work stopped");
}
