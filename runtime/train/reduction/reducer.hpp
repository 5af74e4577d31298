// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/kernels/exact_sum.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/reduction/reduction_timing.hpp"

namespace lockstep::train {

// Tells whether collectives of a rank may run beside its products. none: it waits for each at once;
// the order of the collectives is the same.
enum class InFlight { allowed, none };

// Sums gradients over all ranks, bucket by bucket, while backward still produces the rest.
template <class Ctx>
class Reducer {
public:
    using Space = typename Ctx::Space;

    virtual ~Reducer() = default;

    // Waits until the memory that backward writes is free, if it may not be.
    virtual void begin_backward() {}
    virtual bool waits_before_backward() const noexcept { return false; }
    // Marks every gradient before element `end` of the flat buffer as final in this backward.
    virtual void ready_until(std::size_t end) = 0;
    // Tells whether ready_until(end) would start the exchange of a bucket with other ranks.
    virtual bool starts_reduction(std::size_t end) const = 0;
    // Makes the device wait for every bucket and for everything else that was queued on the
    // collectives in this step.
    virtual void finish() = 0;
    // Adds the sum of squares of the reduced gradient, of the owned parts alone if ranks share a
    // replica. Its value is not finite if an element is not.
    virtual void add_square(View<kernels::ExactSum, Space> squares) = 0;
    // Adds the sums of squares of the ranks that share a replica.
    virtual void add_squares_of_parts(View<kernels::ExactSum, Space> squares) = 0;
    // Counts a wait for weights as one of the step that is being queued.
    virtual void waited_for_weights(device::Span span) = 0;
    // Returns the timing of the oldest finish() that has not been asked for.
    virtual ReductionTiming take_reduction() = 0;

    virtual const std::vector<Bucket>& buckets() const noexcept = 0;
    // Returns the bytes of the device's memory that the conversion of buckets needs.
    virtual std::size_t narrowing_bytes() const noexcept = 0;
};

// Adds the sums of these ranks as integers, so that no order changes the result.
template <class Space>
void add_squares_among(comm::Collectives<Space>& ranks, View<kernels::ExactSum, Space> squares) {
    const View<std::uint64_t, Space> words(squares.data()->word, kernels::ExactSum::words);
    ranks.finish(ranks.all_reduce(words, comm::ReduceOp::sum, "squares"));
}

}  // namespace lockstep::train
