// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/gradient_reducer.hpp"

#include <algorithm>

#include "runtime/kernels/reduce.hpp"

namespace lockstep::train {
namespace {

constexpr const char* communication_track = "communication";

}  // namespace

std::optional<double> hidden_share(double bucket_blocked_s, double bucket_s) noexcept {
    if (bucket_s <= 0) return std::nullopt;
    return std::clamp(1 - bucket_blocked_s / bucket_s, 0.0, 1.0);
}

GradientReducer::GradientReducer(device::CpuContext& context, comm::Communicator& communicator,
                                 Trace& trace, HostView<float> gradient,
                                 std::vector<Bucket> buckets, const ReducerOptions& options)
    : context_(context),
      communicator_(communicator),
      trace_(trace),
      gradient_(gradient),
      buckets_(std::move(buckets)),
      overlap_(options.overlap) {
    std::size_t covered = 0;
    for (const Bucket& bucket : buckets_) {
        require(bucket.first == covered && bucket.count > 0, "buckets have gaps");
        covered += bucket.count;
        labels_.push_back("bucket " + std::to_string(labels_.size()));
    }
    require(covered == gradient_.size(), "the buckets do not cover the gradient buffer");
    if (options.comm_dtype == CommType::bf16 && communicator_.size() > 1)
        compressed_ = device::Buffer<bf16, HostSpace>(gradient_.size());
}

void GradientReducer::ready(std::size_t first, std::size_t count) {
    require(first == final_ && count <= gradient_.size() - first,
            "gradients must become final front to back, without gaps");
    final_ += count;
    if (overlap_ == Overlap::off) return;
    while (handed_over_ < buckets_.size()) {
        const Bucket& next = buckets_[handed_over_];
        if (next.first + next.count > final_) break;
        hand_over(handed_over_);
    }
}

void GradientReducer::hand_over(std::size_t bucket) {
    const auto [first, count] = buckets_[bucket];
    const auto part = gradient_.subview(first, count);
    if (compressed_.size() > 0) {
        const auto copy = compressed_.view().subview(first, count);
        kernels::cast<float, bf16>(context_, part, copy);
        communicator_.all_reduce(copy, comm::Reduction::sum, labels_[bucket]);
    } else {
        communicator_.all_reduce(part, comm::Reduction::sum, labels_[bucket]);
    }
    ++handed_over_;
}

Reduction GradientReducer::finish() {
    require(final_ == gradient_.size(), "finish() before the whole gradient is final");
    Reduction reduction;
    const auto begin = Clock::now();
    while (handed_over_ < buckets_.size()) hand_over(handed_over_);
    communicator_.finish();
    const auto end = Clock::now();
    reduction.blocked_s = seconds_between(begin, end);
    trace_.add("step", "wait for gradients", begin, end);
    take_timings(reduction, begin);
    reduction.sum_of_squares = unpack_and_square();
    final_ = 0;
    handed_over_ = 0;
    return reduction;
}

void GradientReducer::take_timings(Reduction& reduction, Clock::time_point begin) {
    for (comm::Timing& timing : communicator_.take_timings()) {
        const double seconds = seconds_between(timing.begin, timing.end);
        const bool is_bucket =
            std::find(labels_.begin(), labels_.end(), timing.label) != labels_.end();
        if (is_bucket && communicator_.size() > 1) {
            reduction.bucket_s += seconds;
            reduction.bucket_blocked_s = std::max(0.0, seconds_between(begin, timing.end));
            if (timing.label == labels_.back()) reduction.last_bucket_s += seconds;
        }
        trace_.add(communication_track, std::move(timing.label), timing.begin, timing.end);
    }
}

double GradientReducer::unpack_and_square() {
    double sum = 0;
    for (const auto& [first, count] : buckets_) {
        const auto part = gradient_.subview(first, count);
        if (compressed_.size() > 0)
            kernels::cast<bf16, float>(context_, compressed_.view().subview(first, count), part);
        sum += kernels::sum_of_squares(context_, part);
    }
    return sum;
}

}  // namespace lockstep::train
