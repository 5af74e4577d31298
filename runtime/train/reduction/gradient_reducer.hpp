// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/kernels/exact_sum.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/reduction/lane_sums.hpp"
#include "runtime/train/reduction/narrow_gradients.hpp"
#include "runtime/train/reduction/reducer.hpp"
#include "runtime/train/reduction/reduction_clock.hpp"

namespace lockstep::train {

// Sums the gradient buffer over all ranks, in place, bucket by bucket, while backward still
// produces the rest. It divides nothing. Errors are those of comm::Collectives. Usage, in each
// step:
//
//     reducer.ready(first, count);  // as backward finishes ranges, front to back
//     reducer.all_ready();
//     reducer.finish();
//     reducer.widen();
//     reducer.add_square(squares);
//     const ReductionTiming timing = reducer.take_reduction();
template <class Ctx>
class GradientReducer final : public Reducer<Ctx> {
public:
    using Space = typename Ctx::Space;

    // The references and the memory of `gradient` must outlive the reducer.
    GradientReducer(Ctx& context, comm::Collectives<Space>& collectives, Trace& trace,
                    View<float, Space> gradient, std::vector<Bucket> buckets,
                    const ReducerOptions& options);

    // Lets these sums add the lanes of every bucket instead of an all-reduce. They must outlive the
    // reducer. Gradients must travel as fp32.
    void add_by(LaneSums<Ctx>& sums);
    // Lets the ranks of mesh.shard() share a replica: each gets the sums of its owned parts, and
    // the rest of the buffer is undefined after a step. The buckets divide into as many equal
    // parts, and the mesh must outlive the reducer.
    void share_by(const comm::Mesh<Space>& mesh, std::vector<OwnedPart> owned);
    // Sends the last bucket before all others, with its present values; the caller adds what is
    // missing after widen(). Call it at the beginning of a step. The options must sum the table in
    // parts, with overlap.
    void send_last_bucket();
    void ready(std::size_t first, std::size_t count);
    void ready_until(std::size_t end) override { ready(final_, end - final_); }
    void all_ready() { ready_until(gradient_.size()); }
    bool starts_reduction(std::size_t end) const override;
    // Sums the missing part of the last bucket; its time is reported as a bucket's. Call it after
    // all_ready().
    void send_rest_of_last_bucket(View<float, Space> rest);
    void finish() override;
    // Converts the buckets back from bf16 if they were sent so. Call it after finish(). It makes
    // the same calls in every step.
    void widen();
    void add_square(View<kernels::ExactSum, Space> squares) override;
    void add_squares_of_parts(View<kernels::ExactSum, Space> squares) override;
    void waited_for_weights(device::Span span) override { clock_.waited(span, WaitFor::weights); }
    ReductionTiming take_reduction() override { return clock_.take(groups_); }

    const std::vector<Bucket>& buckets() const noexcept override { return buckets_; }
    std::size_t narrowing_bytes() const noexcept override { return narrow_.bytes(); }

private:
    std::size_t in_front() const noexcept;  // number of buckets that are sent front to back
    void hand_over(std::size_t bucket);
    void sum(comm::Range<Space> bucket, std::size_t index);
    View<float, Space> part(std::size_t bucket) const;

    Ctx& context_;
    comm::Collectives<Space>& collectives_;
    View<float, Space> gradient_;
    std::vector<Bucket> buckets_;
    Overlap overlap_;
    LaneSums<Ctx>* lane_sums_ = nullptr;       // null: all-reduces add the ranks
    const comm::Mesh<Space>* mesh_ = nullptr;  // null: every rank has the sums of all elements
    std::vector<TimedGroup<Space>> groups_;    // all that are used, each once
    std::vector<OwnedPart> owned_;
    NarrowGradients<Ctx> narrow_;                     // unused unless gradients travel as bf16
    BucketOrder order_ = BucketOrder::front_to_back;  // of the current step
    std::size_t final_ = 0;                           // number of elements that are final
    std::size_t handed_over_ = 0;  // number of buckets that were sent front to back
    ReductionClock<Ctx> clock_;
};

}  // namespace lockstep::train
