// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/gradient_reducer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/reduction/gradient_reducer_inl.hpp"
#include "tests/support/meeting_communicator.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using train::Bucket;
using GradientReducer = train::GradientReducer<device::CpuContext>;
using train::Overlap;
using train::ReductionTiming;

namespace {

constexpr std::size_t elements = 1000;
const std::vector<Bucket> uneven_buckets = {{0, 1}, {1, 99}, {100, 500}, {600, 400}};

struct Finished {
    ReductionTiming reduction;
    double sum_of_squares = 0;
};

Finished finish(GradientReducer& reducer) {
    Finished finished;
    reducer.finish();
    reducer.widen();
    kernels::ExactSum squares;
    reducer.add_square({&squares, 1});
    finished.sum_of_squares = squares.value();
    finished.reduction = reducer.take_reduction();
    return finished;
}

// Returns small integers, so that sums are exact in fp32 and in bf16.
float gradient_of(int rank, std::size_t i) {
    return static_cast<float>((static_cast<int>(i) * 7 + rank * 5) % 13 - 6);
}

float sum_of(int ranks, std::size_t i) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += gradient_of(rank, i);
    return sum;
}

// Reduces four steps. Every other one sends the last bucket first if the table is summed in parts.
void reduce_and_check(comm::Communicator& communicator, const train::ReducerOptions& options) {
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, communicator.rank());
    std::vector<float> gradient(elements);
    GradientReducer reducer(context, communicator, trace, view_of(gradient), uneven_buckets,
                            options);
    for (int step = 0; step < 4; ++step) {
        for (std::size_t i = 0; i < elements; ++i)
            gradient[i] = gradient_of(communicator.rank(), i);
        const bool in_parts = options.table_sum == train::TableSum::in_parts && step % 2 == 1;
        if (in_parts) reducer.send_last_bucket();
        for (const auto& [first, count] :
             std::vector<Bucket>{{0, 50}, {50, 0}, {50, 650}, {700, 300}})
            reducer.ready(first, count);
        const double sum_of_squares = finish(reducer).sum_of_squares;
        double squares = 0;
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < elements; ++i) {
            const float expected = sum_of(communicator.size(), i);
            if (gradient[i] != expected) ++wrong;
            squares += static_cast<double>(expected) * static_cast<double>(expected);
        }
        CHECK(wrong == 0);
        CHECK(sum_of_squares == squares);
    }
}

// Runs a backward of eight equal buckets on two ranks. With overlap, the sum of a bucket is done
// only when backward calculates the next one, which waits until that sum has begun. Returns what a
// rank waited for in vain.
std::string backward_beside_sums(Overlap overlap) {
    constexpr std::size_t buckets = 8, bucket_elements = 16;
    std::vector<Bucket> plan;
    for (std::size_t i = 0; i < buckets; ++i)
        plan.push_back({i * bucket_elements, bucket_elements});
    comm::ThreadWorld world(2);
    std::string missed[2];
    const bool on = overlap == Overlap::on;
    const auto body = [&](int rank) {
        tests::Happenings happenings;
        const auto before_sum = [&](const char*) {
            const int sums = happenings.add("sum");
            if (on && sums < static_cast<int>(buckets)) happenings.wait("calculated", sums + 1);
        };
        const auto communicator = tests::meeting_join(world, rank, before_sum);
        device::CpuContext context(1);
        Trace trace(Trace::Recording::off, rank);
        std::vector<float> gradient(buckets * bucket_elements);
        train::ReducerOptions options;
        options.overlap = overlap;
        GradientReducer reducer(context, *communicator, trace, view_of(gradient), plan, options);
        for (const auto& [first, count] : plan) {
            const int calculated = happenings.add("calculated");
            if (on) happenings.wait("sum", calculated - 1);
            if (!on && happenings.count("sum") > 0) missed[rank] += "a sum that waits; ";
            reducer.ready(first, count);
        }
        CHECK(finish(reducer).reduction.bucket_s > 0);
        CHECK(happenings.count("sum") == static_cast<int>(buckets));
        missed[rank] += happenings.missed();
    };
    std::thread other(body, 1);
    body(0);
    other.join();
    return missed[0] + missed[1];
}

}  // namespace

TEST_CASE("gradients are summed exactly over any number of ranks") {
    train::ReducerOptions options;
    for (const auto overlap : {Overlap::on, Overlap::off})
        for (const auto type : {Dtype::fp32, Dtype::bf16})
            for (const int ranks : {1, 2, 4, 7}) {
                CAPTURE(ranks);
                options.overlap = overlap;
                options.comm_dtype = type;
                options.table_sum =
                    overlap == Overlap::on ? train::TableSum::in_parts : train::TableSum::at_once;
                comm::run_as_threads(ranks, [&](comm::Communicator& communicator) {
                    reduce_and_check(communicator, options);
                });
            }
}

TEST_CASE("buckets are handed over as soon as they are final, and only then") {
    // Records the operations that are queued. There is one rank, so nothing else has to happen.
    class Recorder final : public comm::LocalCommunicator {
    public:
        comm::Ticket all_reduce(comm::HostRange range, comm::ReduceOp reduction,
                                std::string label) override {
            labels.push_back(label);
            return LocalCommunicator::all_reduce(range, reduction, std::move(label));
        }
        std::vector<std::string> labels;
    };
    using Labels = std::vector<std::string>;
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, 0);
    std::vector<float> gradient(elements);
    for (const auto overlap : {Overlap::on, Overlap::off}) {
        const bool on = overlap == Overlap::on;
        Recorder recorder;
        train::ReducerOptions options;
        options.overlap = overlap;
        GradientReducer reducer(context, recorder, trace, view_of(gradient), uneven_buckets,
                                options);
        reducer.ready(0, 99);
        CHECK(recorder.labels == (on ? Labels{"bucket 0"} : Labels{}));
        reducer.ready(99, 600);
        CHECK(recorder.labels == (on ? Labels{"bucket 0", "bucket 1", "bucket 2"} : Labels{}));
        CHECK_THROWS_AS(finish(reducer), Error);
        reducer.ready(699, 301);
        finish(reducer);
        CHECK(recorder.labels == Labels{"bucket 0", "bucket 1", "bucket 2", "bucket 3"});
    }
}

TEST_CASE("what the last bucket lacks is a bucket behind all others, and told as the last") {
    comm::run_as_threads(2, [](comm::Communicator& communicator) {
        device::CpuContext context(1);
        Trace trace(Trace::Recording::on, communicator.rank());
        std::vector<float> gradient(elements, 1.0F), rest(3, 2.0F);
        train::ReducerOptions options;
        options.table_sum = train::TableSum::in_parts;
        GradientReducer reducer(context, communicator, trace, view_of(gradient), uneven_buckets,
                                options);
        reducer.send_last_bucket();
        CHECK_THROWS_AS(reducer.send_last_bucket(), Error);
        CHECK_THROWS_AS(reducer.send_rest_of_last_bucket(view_of(rest)), Error);
        reducer.all_ready();
        reducer.send_rest_of_last_bucket(view_of(rest));
        const ReductionTiming reduction = finish(reducer).reduction;
        CHECK(rest == std::vector<float>(3, 4.0F));
        CHECK(gradient == std::vector<float>(elements, 2.0F));
        CHECK(reduction.last_bucket_s > 0);
        CHECK(reduction.last_bucket_s < reduction.bucket_s);
    });
}

TEST_CASE("gaps in what is final are a programming error") {
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, 0);
    comm::LocalCommunicator communicator;
    std::vector<float> gradient(elements);
    GradientReducer reducer(context, communicator, trace, view_of(gradient), uneven_buckets, {});
    reducer.ready(0, 10);
    CHECK_THROWS_AS(reducer.ready(11, 10), Error);
    CHECK_THROWS_AS(reducer.ready(10, elements), Error);
}

TEST_CASE("the sum of squares has the same bits whatever the buckets and the ranks are") {
    constexpr std::size_t many = 50001;
    const auto values = tests::random_numbers<float>(many, 3);
    const auto sum_of = [&](int ranks, const std::vector<Bucket>& buckets) {
        double sum = 0;
        comm::run_as_threads(ranks, [&](comm::Communicator& communicator) {
            device::CpuContext context(1);
            Trace trace(Trace::Recording::off, communicator.rank());
            // The other ranks add nothing.
            auto gradient = communicator.rank() == 0 ? values : std::vector<float>(many);
            GradientReducer reducer(context, communicator, trace, view_of(gradient), buckets, {});
            reducer.all_ready();
            const double found = finish(reducer).sum_of_squares;
            if (communicator.rank() == 0) sum = found;
        });
        return sum;
    };
    const double whole = sum_of(1, {{0, many}});
    for (const int ranks : {1, 2, 3})
        for (const std::size_t first : {std::size_t{1}, std::size_t{777}, std::size_t{20000}})
            CHECK(sum_of(ranks,
                         {{0, first}, {first, 20000}, {first + 20000, many - 20000 - first}}) ==
                  whole);
}

TEST_CASE("a gradient that is not finite shows in the norm of every rank") {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")})
        comm::run_as_threads(3, [&](comm::Communicator& communicator) {
            device::CpuContext context(1);
            Trace trace(Trace::Recording::off, communicator.rank());
            std::vector<float> gradient(elements, 1.0F);
            if (communicator.rank() == 1) gradient[777] = bad;
            GradientReducer reducer(context, communicator, trace, view_of(gradient), uneven_buckets,
                                    {});
            reducer.ready(0, elements);
            CHECK_FALSE(std::isfinite(finish(reducer).sum_of_squares));
        });
}

TEST_CASE("one rank has nothing to hide") {
    device::CpuContext context(1);
    Trace trace(Trace::Recording::off, 0);
    comm::LocalCommunicator communicator;
    std::vector<float> gradient(elements);
    GradientReducer reducer(context, communicator, trace, view_of(gradient), uneven_buckets, {});
    reducer.ready(0, elements);
    CHECK_FALSE(finish(reducer).reduction.hidden_share().has_value());
}

TEST_CASE("sums run beside backward, and without overlap behind it") {
    CHECK(backward_beside_sums(Overlap::on).empty());
    CHECK(backward_beside_sums(Overlap::off).empty());
}
