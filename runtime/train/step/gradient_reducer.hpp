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
#include "runtime/train/step/model.hpp"
#include "runtime/train/step/reduction_timing.hpp"

namespace lockstep::train {

// Sums the gradient buffer over all ranks, in place, bucket by bucket, while backward still
// produces the rest. Every step: ready() until the whole buffer is final, then finish().
// Nothing is divided here.
template <class Ctx>
class GradientReducer {
public:
    using Space = typename Ctx::Space;

    // What is passed by reference, and the gradient, outlive the reducer.
    GradientReducer(Ctx& context, comm::Collectives<Space>& collectives, Trace& trace,
                    View<float, Space> gradient, std::vector<Bucket> buckets,
                    const ReducerOptions& options);

    void ready(std::size_t first, std::size_t count);
    // All that comes before `end`, or everything, as far as it was not yet.
    void ready_until(std::size_t end) { ready(final_, end - final_); }
    void all_ready() { ready_until(gradient_.size()); }
    // Whether ready_until(end) would have other ranks' gradients arrive.
    bool starts_reduction(std::size_t end) const;
    // The device waits for every bucket and for whatever else was queued on the collectives
    // meanwhile.
    void finish();
    // After finish(), the same calls every time: unpacks the buckets, and adds the reduced
    // gradient's sum of squares, not finite where an element is not.
    void unpack_and_square(View<double, Space> sum_of_squares);
    // Of the oldest finish() not asked about.
    ReductionTiming take_reduction();

    const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

private:
    void hand_over(std::size_t bucket);
    View<float, Space> part(std::size_t bucket) const;
    View<bf16, Space> place(std::size_t bucket) const;  // where it lies while it travels as bf16

    Ctx& context_;
    comm::Collectives<Space>& collectives_;
    Trace& trace_;
    View<float, Space> gradient_;
    std::vector<Bucket> buckets_;
    std::vector<std::string> labels_;
    Overlap overlap_;
    Exchange exchange_;  // empty unless gradients travel as bf16
    device::Buffer<bf16, Space> spare_;
    std::size_t final_ = 0;           // elements that are final
    std::size_t handed_over_ = 0;     // buckets
    std::deque<device::Span> waits_;  // in finish()
};

}  // namespace lockstep::train
