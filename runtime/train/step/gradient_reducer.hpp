// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/step/buckets.hpp"
#include "runtime/train/step/exchange.hpp"
#include "runtime/train/step/forward_backward.hpp"
#include "runtime/train/step/reduction_timing.hpp"

namespace lockstep::train {

// Sums the gradient buffer over all ranks, in place, bucket by bucket, while backward still
// produces the rest. Every step: ready() until the whole buffer is final, then finish(); a step may
// begin with send_last_bucket(). Nothing is divided here.
template <class Ctx>
class GradientReducer {
public:
    using Space = typename Ctx::Space;

    // What is passed by reference, and the gradient, outlive the reducer.
    GradientReducer(Ctx& context, comm::Collectives<Space>& collectives, Trace& trace,
                    View<float, Space> gradient, std::vector<Bucket> buckets,
                    const ReducerOptions& options);

    // Sums the last bucket before all others, as it is now: what it still lacks is added after
    // unpack(). The options have the table's sum in parts, and overlap.
    void send_last_bucket();
    void ready(std::size_t first, std::size_t count);
    // All that comes before `end`, or everything, as far as it was not yet.
    void ready_until(std::size_t end) { ready(final_, end - final_); }
    void all_ready() { ready_until(gradient_.size()); }
    // Whether ready_until(end) would have other ranks' gradients arrive.
    bool starts_reduction(std::size_t end) const;
    // After all_ready(): sums what the last bucket lacks, which is told as a bucket.
    void send_rest_of_last_bucket(View<float, Space> rest);
    // The device waits for every bucket and for whatever else was queued on the collectives
    // meanwhile.
    void finish();
    // After finish(), the same calls every time: unpacks the buckets that were sent in this order.
    void unpack(BucketOrder order);
    // Adds the reduced gradient's sum of squares, not finite where an element is not.
    void add_square(View<double, Space> sum_of_squares);
    // Of the oldest finish() not asked about.
    ReductionTiming take_reduction();

    const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

private:
    std::size_t in_front() const noexcept;  // buckets that are sent front to back
    void hand_over(std::size_t bucket);
    void unpack(std::size_t bucket, const Exchange& exchange);
    View<float, Space> part(std::size_t bucket) const;
    // Where it lies while it travels as bf16.
    View<bf16, Space> packed_range(std::size_t bucket, const Exchange& exchange) const;

    Ctx& context_;
    comm::Collectives<Space>& collectives_;
    Trace& trace_;
    View<float, Space> gradient_;
    std::vector<Bucket> buckets_;
    std::vector<std::string> labels_;
    const std::string rest_label_ = "rest of the last bucket";
    Overlap overlap_;
    // Empty unless gradients travel as bf16.
    Exchange front_to_back_, last_one_first_;
    device::Buffer<bf16, Space> spare_;
    BucketOrder order_ = BucketOrder::front_to_back;  // of this step
    std::size_t final_ = 0;                           // elements that are final
    std::size_t handed_over_ = 0;                     // buckets, front to back
    std::deque<device::Span> waits_;                  // in finish()
};

}  // namespace lockstep::train
