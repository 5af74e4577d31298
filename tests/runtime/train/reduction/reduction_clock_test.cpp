// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/reduction_clock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/device/cpu_context.hpp"

using namespace lockstep;

namespace {

using ReductionClock = train::ReductionClock<device::CpuContext>;

// Tells times that a test chose, as one of four ranks would.
class TimedRank final : public comm::LocalCommunicator {
public:
    explicit TimedRank(std::vector<comm::Timing> timings) : timings_(std::move(timings)) {}
    int size() const noexcept override { return 4; }
    std::vector<comm::Timing> take_timings() override { return std::exchange(timings_, {}); }

private:
    std::vector<comm::Timing> timings_;
};

comm::Timing timing(const char* label, int begin_ms, int end_ms) {
    const Clock::time_point zero{};
    return {label, zero + std::chrono::milliseconds(begin_ms),
            zero + std::chrono::milliseconds(end_ms)};
}

// Returns the timing of a step of two buckets that took these times in the groups of a rank.
train::ReductionTiming timing_of(std::vector<comm::Timing> all, std::vector<comm::Timing> some) {
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, 0);
    ReductionClock clock(context, trace, 2);
    device::Stopwatch<device::CpuContext> watch(context);
    clock.waited(watch.lap());
    clock.end_step();
    TimedRank first(std::move(all)), second(std::move(some));
    return clock.take({{&first, &train::ReductionTiming::gradients},
                       {&second, &train::ReductionTiming::replicas}});
}

// A device of which a test learns when it is waited for.
struct WatchedContext {
    using Space = HostSpace;
    Clock::time_point time_of(device::DeviceTimestamp) const {
        calls.push_back("device");
        return {};
    }
    mutable std::vector<std::string> calls;
};

class NotedGroup final : public comm::LocalCommunicator {
public:
    explicit NotedGroup(WatchedContext& context) : context_(context) {}
    std::vector<comm::Timing> take_timings() override {
        context_.calls.push_back("ranks");
        return {};
    }

private:
    WatchedContext& context_;
};

}  // namespace

TEST_CASE("the last bucket has the time of all its operations, whatever group is asked first") {
    const std::vector<comm::Timing> shard{timing("bucket 0", 0, 2), timing("bucket 1", 2, 5)};
    const std::vector<comm::Timing> replica{timing("bucket 0", 5, 6), timing("bucket 1", 6, 13)};
    for (const auto& reduction : {timing_of(shard, replica), timing_of(replica, shard)}) {
        CHECK(reduction.bucket_s == doctest::Approx(0.013));
        CHECK(reduction.last_bucket_s == doctest::Approx(0.010));
    }
}

TEST_CASE("waits for weights and for gradients are told apart") {
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, 0);
    ReductionClock clock(context, trace, 1);
    const auto wait = [&](int ms, train::WaitFor what) {
        device::Stopwatch<device::CpuContext> watch(context);
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        clock.waited(watch.lap(), what);
    };
    wait(30, train::WaitFor::weights);
    wait(1, train::WaitFor::gradients);
    clock.end_step();
    TimedRank group({timing("weights 0", 0, 40), timing("bucket 0", 40, 41)});
    const train::ReductionTiming reduction =
        clock.take({{&group, &train::ReductionTiming::gradients}});
    CHECK(reduction.weights.seconds == doctest::Approx(0.040));
    CHECK(reduction.bucket_s == doctest::Approx(0.041));
    CHECK(reduction.weights.blocked_s >= 0.030);
    CHECK(reduction.blocked_s - reduction.weights.blocked_s >= 0.001);
    CHECK(reduction.weights.hidden_share().value() <= 0.25);
}

TEST_CASE("of a last bucket that was sent first, the rest counts, whatever group is asked first") {
    const std::vector<comm::Timing> world{timing("rest of the last bucket", 5, 6)};
    const std::vector<comm::Timing> shard{timing("bucket 1", 0, 3), timing("bucket 0", 3, 5)};
    for (const auto& reduction : {timing_of(world, shard), timing_of(shard, world)}) {
        CHECK(reduction.bucket_s == doctest::Approx(0.006));
        CHECK(reduction.last_bucket_s == doctest::Approx(0.001));
    }
}

TEST_CASE("sums of each group have their own time, and what of it the device waited") {
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, 0);
    ReductionClock clock(context, trace, 2);
    device::Stopwatch<device::CpuContext> watch(context);
    const device::Span span = watch.lap();
    clock.waited(span);
    clock.end_step();
    const auto begin = context.time_of(span.begin), end = context.time_of(span.end);
    const auto ms = [](int count) { return std::chrono::milliseconds(count); };
    TimedRank shard({{"weights 0", begin - ms(3), begin}, {"bucket 0", begin - ms(2), end}}),
        replica({{"bucket 0", begin - ms(1), end + ms(4)}, {"losses", begin, end}});
    const train::ReductionTiming reduction =
        clock.take({{&shard, &train::ReductionTiming::gradients},
                    {&replica, &train::ReductionTiming::replicas}});
    const double waited = seconds_between(begin, end);
    CHECK(reduction.weights.seconds == doctest::Approx(0.003));
    CHECK(reduction.gradients.seconds == doctest::Approx(0.002 + waited));
    CHECK(reduction.gradients.blocked_s == doctest::Approx(waited));
    CHECK(reduction.replicas.seconds == doctest::Approx(0.005 + waited));
    CHECK(reduction.replicas.blocked_s == doctest::Approx(waited));
    CHECK(reduction.bucket_s == doctest::Approx(0.010 + 2 * waited));
}

// The watchdog takes a wait for the device as this rank's own work.
TEST_CASE("the host waits for the ranks before it waits for the device") {
    WatchedContext context;
    Trace trace(Trace::Recording::off, 0);
    train::ReductionClock<WatchedContext> clock(context, trace, 1);
    clock.waited({});
    clock.end_step();
    NotedGroup group(context), other(context);
    clock.take({{&group, &train::ReductionTiming::gradients},
                {&other, &train::ReductionTiming::replicas}});
    REQUIRE(context.calls.size() == 4);
    CHECK(context.calls[1] == "ranks");
    CHECK(context.calls[2] == "device");
}
