// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/train/step/reduction_timing.hpp"

namespace lockstep::train {

inline constexpr const char* weights_label = "weights ";

// Measures how long a device waits for gradients and weights of other ranks in each step, and how
// long they travel. The operations of a bucket have its label, and those of weights one that begins
// with `weights_label`.
template <class Ctx>
class ReductionClock {
public:
    using Space = typename Ctx::Space;

    // The references must outlive the object.
    ReductionClock(Ctx& context, Trace& trace, std::size_t buckets)
        : context_(context), trace_(trace) {
        while (labels_.size() < buckets)
            labels_.push_back("bucket " + std::to_string(labels_.size()));
    }

    const std::string& label(std::size_t bucket) const { return labels_[bucket]; }
    // Names what is summed later of a last bucket that was sent first.
    const std::string& rest_label() const noexcept { return rest_label_; }

    // Takes the time of one wait; the last one of a step is the one for everything.
    void waited(device::Span span) { waiting_.push_back(span); }
    void end_step() { steps_.push_back(std::exchange(waiting_, {})); }
    // Returns the timing of the oldest step that has not been asked for.
    ReductionTiming take(const std::vector<comm::Collectives<Space>*>& groups);

private:
    bool is_bucket(const std::string& label) const {
        return label == rest_label_ || label.starts_with(weights_label) ||
               std::ranges::find(labels_, label) != labels_.end();
    }

    Ctx& context_;
    Trace& trace_;
    std::vector<std::string> labels_;
    const std::string rest_label_ = "rest of the last bucket";
    std::vector<device::Span> waiting_;            // of the step that is being queued
    std::deque<std::vector<device::Span>> steps_;  // that ended
};

template <class Ctx>
ReductionTiming ReductionClock<Ctx>::take(const std::vector<comm::Collectives<Space>*>& groups) {
    require(!steps_.empty(), "no reduction was finished");
    std::vector<comm::Timing> timings;
    for (comm::Collectives<Space>* group : groups)
        std::ranges::move(group->take_timings(), std::back_inserter(timings));
    ReductionTiming reduction;
    double last_s = 0, rest_s = 0;  // of the last bucket, and of what was sent of it at the end
    double earlier_s = 0;           // in waits before the last one
    Clock::time_point begin;
    for (const device::Span& span : steps_.front()) {
        begin = context_.time_of(span.begin);
        const auto end = context_.time_of(span.end);
        trace_.add("step", "wait for gradients", begin, end);
        earlier_s = reduction.blocked_s;
        reduction.blocked_s += seconds_between(begin, end);
        reduction.waits.push_back({begin, end});
    }
    steps_.pop_front();
    for (comm::Timing& timing : timings) {
        const double seconds = seconds_between(timing.begin, timing.end);
        if (is_bucket(timing.label) && groups.front()->size() > 1) {
            reduction.bucket_s += seconds;
            const double blocked_s = std::max(0.0, seconds_between(begin, timing.end));
            reduction.bucket_blocked_s =
                std::max(reduction.bucket_blocked_s, earlier_s + blocked_s);
            if (timing.label == rest_label_) rest_s += seconds;
            if (timing.label == labels_.back()) last_s += seconds;
        }
        trace_.add("communication", std::move(timing.label), timing.begin, timing.end);
    }
    reduction.last_bucket_s = rest_s > 0 ? rest_s : last_s;
    return reduction;
}

}  // namespace lockstep::train
