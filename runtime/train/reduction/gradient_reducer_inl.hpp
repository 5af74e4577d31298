// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/core/named_range.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/gradient_reducer.hpp"

namespace lockstep::train {

template <class Ctx>
GradientReducer<Ctx>::GradientReducer(Ctx& context, comm::Collectives<Space>& collectives,
                                      Trace& trace, View<float, Space> gradient,
                                      std::vector<Bucket> buckets, const ReducerOptions& options)
    : context_(context),
      collectives_(collectives),
      gradient_(gradient),
      buckets_(std::move(buckets)),
      overlap_(options.overlap),
      groups_{{&collectives, &ReductionTiming::replicas}},
      owned_{{0, gradient.size(), 0}},
      narrow_(context,
              collectives.size() > 1 && options.comm_dtype == Dtype::bf16 ? largest(buckets_) : 0),
      clock_(context, trace, buckets_.size()) {
    std::size_t covered = 0;
    for (const Bucket& bucket : buckets_) {
        require(bucket.first == covered && bucket.count > 0, "buckets have gaps");
        covered += bucket.count;
    }
    require(covered == gradient_.size(), "the buckets do not cover the gradient buffer");
    kernels::reserve_sums(context_, gradient_.size());
}

template <class Ctx>
auto GradientReducer<Ctx>::part(std::size_t bucket) const -> View<float, Space> {
    return gradient_.subview(buckets_[bucket].first, buckets_[bucket].count);
}

template <class Ctx>
std::size_t GradientReducer<Ctx>::in_front() const noexcept {
    return buckets_.size() - (order_ == BucketOrder::last_one_first ? 1 : 0);
}

template <class Ctx>
void GradientReducer<Ctx>::add_by(LaneSums<Ctx>& sums) {
    require(!narrow_.used(), "lanes are added in fp32");
    lane_sums_ = &sums;
}

template <class Ctx>
void GradientReducer<Ctx>::share_by(const comm::Mesh<Space>& mesh, std::vector<OwnedPart> owned) {
    require(owned.size() == buckets_.size(), "each bucket has an owned part");
    mesh_ = &mesh;
    owned_ = std::move(owned);
    groups_ = timed_groups(mesh);
}

template <class Ctx>
void GradientReducer<Ctx>::send_last_bucket() {
    require(final_ == 0 && order_ == BucketOrder::front_to_back && buckets_.size() > 1,
            "the last bucket is not the first to be sent");
    order_ = BucketOrder::last_one_first;
    hand_over(buckets_.size() - 1);
}

template <class Ctx>
void GradientReducer<Ctx>::ready(std::size_t first, std::size_t count) {
    require(first == final_ && count <= gradient_.size() - first,
            "gradients must become final front to back, without gaps");
    final_ += count;
    if (overlap_ == Overlap::off) return;
    while (handed_over_ < in_front()) {
        const Bucket& next = buckets_[handed_over_];
        if (next.first + next.count > final_) break;
        hand_over(handed_over_++);
    }
}

template <class Ctx>
bool GradientReducer<Ctx>::starts_reduction(std::size_t end) const {
    if (overlap_ == Overlap::off || collectives_.size() == 1) return false;
    if (handed_over_ == in_front()) return false;
    return buckets_[handed_over_].first + buckets_[handed_over_].count <= end;
}

template <class Ctx>
void GradientReducer<Ctx>::hand_over(std::size_t bucket) {
    const NamedRange range(clock_.label(bucket).c_str());
    if (lane_sums_ != nullptr)
        return lane_sums_->reduce(buckets_[bucket].first, buckets_[bucket].count,
                                  clock_.label(bucket));
    if (!narrow_.used()) return sum(part(bucket), bucket);
    narrow_.narrow(part(bucket));
    sum(narrow_.narrowed(part(bucket)), bucket);
}

// Replicas have the same parts, so only the owned part goes from one to the other.
template <class Ctx>
void GradientReducer<Ctx>::sum(comm::Range<Space> bucket, std::size_t index) {
    if (mesh_ == nullptr) {
        collectives_.all_reduce(bucket, comm::ReduceOp::sum, clock_.label(index));
        return;
    }
    mesh_->shard().reduce_scatter(bucket, comm::ReduceOp::sum, clock_.label(index));
    if (mesh_->replica().size() == 1) return;
    const std::size_t count = owned_[index].count;
    const std::size_t before =
        (owned_[index].first - buckets_[index].first) * bytes_of(bucket.element);
    const comm::Range<Space> own(static_cast<std::byte*>(bucket.data) + before, count,
                                 bucket.element);
    mesh_->replica().all_reduce(own, comm::ReduceOp::sum, clock_.label(index));
}

template <class Ctx>
void GradientReducer<Ctx>::send_rest_of_last_bucket(View<float, Space> rest) {
    require(order_ == BucketOrder::last_one_first && final_ == gradient_.size(),
            "the last bucket's rest comes after all buckets");
    collectives_.all_reduce(rest, comm::ReduceOp::sum, clock_.rest_label());
}

template <class Ctx>
void GradientReducer<Ctx>::finish() {
    require(final_ == gradient_.size(), "finish() before the whole gradient is final");
    device::Stopwatch<Ctx> watch(context_);
    while (handed_over_ < in_front()) hand_over(handed_over_++);
    for (const TimedGroup<Space>& group : groups_) group.collectives->finish();
    clock_.waited(watch.lap());
    clock_.end_step();
    final_ = 0;
    handed_over_ = 0;
    order_ = BucketOrder::front_to_back;
}

// Buckets are widened whole, also where ranks share: the gaps between parameters must be zeros
// again, because update and norm read them.
template <class Ctx>
void GradientReducer<Ctx>::widen() {
    if (!narrow_.used()) return;
    for (std::size_t i = 0; i < buckets_.size(); ++i) narrow_.widen(part(i), 0, buckets_[i].count);
}

template <class Ctx>
void GradientReducer<Ctx>::add_square(View<kernels::ExactSum, Space> squares) {
    for (const OwnedPart& owned : owned_)
        kernels::add_sum_of_squares(context_, gradient_.subview(owned.first, owned.count), squares);
}

template <class Ctx>
void GradientReducer<Ctx>::add_squares_of_parts(View<kernels::ExactSum, Space> squares) {
    add_squares_among(mesh_->shard(), squares);
}

}  // namespace lockstep::train
