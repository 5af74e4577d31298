// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_replay.hpp"

#include <doctest/doctest.h>

#include "runtime/kernels/reduce.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using device::CudaContext;
using device::Queued;

namespace {

// A number that the work adds squares to, so that work that runs too often or too rarely shows.
struct Counter {
    explicit Counter(std::size_t max_graphs) {
        ctx.cached<device::GraphSettings>().max_graphs = max_graphs;
        replay.emplace(ctx);
    }

    void add() { kernels::add_sum_of_squares(ctx, x.const_view(), total.view()); }
    double value() const { return total.values()[0].value(); }

    CudaContext ctx{0};
    OnDevice<float> x{ctx, std::vector<float>{1, 2}};
    OnDevice<kernels::ExactSum> total{ctx, std::vector<kernels::ExactSum>(1)};
    std::optional<device::Replay<CudaContext>> replay;
};

}  // namespace

TEST_CASE("work that comes again is replayed from its third time on, until memory has moved") {
    Counter counter(8);
    int calls = 0;
    double expected = 0;
    const auto run = [&](std::int64_t moves) {
        expected += 5;
        const Queued queued = counter.replay->run({1}, moves, [&] {
            ++calls;
            counter.add();
        });
        CHECK(counter.value() == expected);
        return queued;
    };
    const auto runs_as_if_new = [&](std::int64_t moves) {
        const int before = calls;
        CHECK(run(moves) == Queued::call_by_call);
        CHECK(run(moves) == Queued::at_once);  // captured and run
        CHECK(calls == before + 2);
        CHECK(run(moves) == Queued::at_once);
        CHECK(run(moves) == Queued::at_once);
        CHECK(calls == before + 2);
    };
    runs_as_if_new(0);
    runs_as_if_new(3);
    counter.ctx.scratch<float>(std::size_t{1} << 20);
    runs_as_if_new(3);
}

TEST_CASE("work that grows scratch memory is captured once it does not any more") {
    Counter counter(8);
    std::size_t size = 1000;
    const auto run = [&] {
        return counter.replay->run({1}, 0, [&] {
            kernels::fill_zero(counter.ctx, counter.ctx.scratch<float>(size));
            counter.add();
        });
    };
    CHECK(run() == Queued::call_by_call);
    CHECK(run() == Queued::at_once);
    CHECK(run() == Queued::at_once);
    CHECK(counter.value() == 15);
}

TEST_CASE("actions stand apart at their place in the work, every time") {
    Counter counter(8);
    std::vector<double> seen;
    const auto look = [&] { seen.push_back(counter.value()); };
    for (int time = 0; time < 4; ++time)
        counter.replay->run({7}, 0, [&] {
            counter.add();
            counter.replay->apart(look);
            counter.add();
            counter.add();
            counter.replay->apart(look);
            counter.add();
        });
    CHECK(seen == std::vector<double>{5, 15, 25, 35, 45, 55, 65, 75});
    CHECK(counter.value() == 80);
    counter.replay->apart(look);  // outside any work
    CHECK(seen.back() == 80);
}

TEST_CASE("no more works become graphs than are allowed") {
    Counter few(1), none(0);
    for (int time = 0; time < 3; ++time)
        for (const std::int64_t key : {1, 2}) {
            const auto of = [&](Counter& counter) {
                return counter.replay->run({key}, 0, [&] { counter.add(); });
            };
            CHECK(of(few) == (key == 1 && time > 0 ? Queued::at_once : Queued::call_by_call));
            CHECK(of(none) == Queued::call_by_call);
        }
    CHECK(few.value() == 30);
    CHECK(none.value() == 30);
}

TEST_CASE("work that fails while it is captured is reported, and may come again") {
    Counter counter(8);
    bool fails = false;
    const auto run = [&] {
        return counter.replay->run({1}, 0, [&] {
            counter.add();
            if (fails) device::Buffer<float, CudaSpace> buffer(1);
        });
    };
    run();
    fails = true;
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("cudaMalloc failed"), Error);
    CHECK(counter.value() == 5);
    fails = false;
    CHECK(run() == Queued::at_once);
    CHECK(run() == Queued::at_once);
    CHECK(counter.value() == 15);
}
