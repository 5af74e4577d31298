// SPDX-License-Identifier: Apache-2.0
// What a rank sends in a step, by the tape of a dry one.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/train/reduction/step_traffic.hpp"
#include "tests/runtime/train/step/dry_ranks.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using device::CpuTraits;
using train::Precision;

namespace {

train::StepTraffic traffic(const Run& run, comm::HalfSums half_sums = comm::HalfSums::halves,
                           int rank = 0) {
    const train::DryStep step = dry<CpuTraits>(run, rank);
    return train::step_traffic(step.tape, step.mesh, half_sums);
}
std::int64_t sent(const Run& run) { return traffic(run).total(); }

std::int64_t elements_of(const Run& run) {
    return static_cast<std::int64_t>(table_of(run).flat_size());
}

}  // namespace

TEST_CASE("a shared replica in 16 bits sends three quarters of what whole ones send") {
    CHECK(sent({}) == 0);
    Run whole{.ranks = 4};
    CHECK(sent(whole) == 6 * elements_of(whole));
    Run shared = sharing(1, 4);
    const std::int64_t padded = elements_of(shared);
    CHECK(sent(shared) * 4 == 18 * padded);
    shared.precision = Precision::fp32;
    CHECK(sent(shared) == 6 * padded);
    shared.precision = Precision::bf16;
    // Each rank also sends its quarter twice between the two replicas, half of it each time.
    Run eight{.ranks = 8};
    eight.options.zero = zero(1, 4);
    CHECK(sent(eight) * 4 == 22 * elements_of(eight));
    shared.options.reducer.comm_dtype = Dtype::bf16;
    CHECK(sent(shared) == 3 * padded);
    // Each further lane of a rank costs another sum.
    shared.options.reducer.comm_dtype = Dtype::fp32;
    shared.options.zero = zero(2);
    CHECK(sent(shared) * 4 == 18 * padded);
    shared.options.lanes = 12;
    CHECK(sent(shared) * 4 == 42 * padded);
}

TEST_CASE("what is sent is told for each group") {
    Run run{.ranks = 8};
    const std::int64_t elements = elements_of(run);
    const train::StepTraffic whole = traffic(run);
    CHECK(whole.weights == 0);
    CHECK(whole.gradients == 0);
    CHECK(whole.replicas == 7 * elements);
    run.options.zero = zero(1, 4);
    const train::StepTraffic two = traffic(run);
    CHECK(two.weights * 4 == 3 * 2 * elements);
    CHECK(two.gradients * 4 == 3 * 4 * elements);
    CHECK(two.replicas * 4 == 4 * elements);
    run.options.zero = zero(1);
    CHECK(traffic(run).replicas == 0);
    run.options.reducer.lane_order = train::LaneOrder::fixed;
    CHECK(traffic(run).replicas == 0);
    run.options.zero = zero(1, 4);
    CHECK(traffic(run).gradients == 0);
}

TEST_CASE("lanes in a fixed order send whole gradients, those of every branch and their sum") {
    Run run{.ranks = 4};
    run.options.reducer.lane_order = train::LaneOrder::fixed;
    const std::int64_t gradient = 4 * elements_of(run);
    const auto most_sent = [&](std::int64_t lanes) {
        run.options.lanes = lanes;
        std::int64_t most = 0;
        for (int rank = 0; rank < run.ranks; ++rank)
            most = std::max(most, traffic(run, comm::HalfSums::halves, rank).total());
        CHECK(most ==
              traffic(run, comm::HalfSums::halves, train::rank_with_most_sent(lanes, run.ranks))
                  .total());
        return most;
    };
    CHECK(most_sent(4) * 4 == 2 * 3 * gradient);
    CHECK(most_sent(8) * 4 == 2 * 3 * gradient);  // a rank adds its two lanes
    CHECK(most_sent(7) * 4 == 2 * 3 * gradient);
    CHECK(most_sent(13) > most_sent(4));
    const std::int64_t whole = most_sent(12);
    CHECK(whole * 4 == 3 * 3 * gradient);  // three lanes are two branches
    run.options.zero = zero(1);
    CHECK(most_sent(12) * 4 == whole * 4 + 3 * gradient / 2);  // and the weights in 16 bits
}

TEST_CASE("ranks without half sums send whole ones") {
    Run run{.ranks = 4};
    const std::int64_t elements = elements_of(run);
    const auto whole_sums = [&] { return traffic(run, comm::HalfSums::as_whole_ones).total(); };
    CHECK(whole_sums() == 6 * elements);
    run.options.zero = zero(1);
    CHECK(whole_sums() * 4 == 3 * 10 * elements);
    run.options.zero = zero(2);
    run.options.lanes = 12;
    CHECK(whole_sums() * 4 == 3 * 26 * elements);
}
