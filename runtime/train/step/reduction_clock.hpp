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

// Says what a device waits for.
enum class WaitFor { gradients, weights };

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
    void waited(device::Span span, WaitFor what = WaitFor::gradients) {
        waiting_.push_back({span, what});
    }
    void end_step() { steps_.push_back(std::exchange(waiting_, {})); }
    // Returns the timing of the oldest step that has not been asked for.
    ReductionTiming take(const std::vector<comm::Collectives<Space>*>& groups);

private:
    struct MeasuredWait {
        device::Span span;
        WaitFor what;
    };

    static bool is_weights(const std::string& label) { return label.starts_with(weights_label); }
    bool is_bucket(const std::string& label) const {
        return label == rest_label_ || is_weights(label) ||
               std::ranges::find(labels_, label) != labels_.end();
    }
    ReductionTiming take_waits();

    Ctx& context_;
    Trace& trace_;
    std::vector<std::string> labels_;
    const std::string rest_label_ = "rest of the last bucket";
    std::vector<MeasuredWait> waiting_;            // of the step that is being queued
    std::deque<std::vector<MeasuredWait>> steps_;  // that ended
};

template <class Ctx>
ReductionTiming ReductionClock<Ctx>::take_waits() {
    ReductionTiming reduction;
    for (const auto& [span, what] : steps_.front()) {
        const auto begin = context_.time_of(span.begin), end = context_.time_of(span.end);
        const bool for_weights = what == WaitFor::weights;
        trace_.add("step", for_weights ? "wait for weights" : "wait for gradients", begin, end);
        const double seconds = seconds_between(begin, end);
        reduction.blocked_s += seconds;
        if (for_weights) reduction.weights.blocked_s += seconds;
        reduction.waits.push_back({begin, end});
    }
    steps_.pop_front();
    return reduction;
}

template <class Ctx>
ReductionTiming ReductionClock<Ctx>::take(const std::vector<comm::Collectives<Space>*>& groups) {
    require(!steps_.empty(), "no reduction was finished");
    std::vector<comm::Timing> timings;
    for (comm::Collectives<Space>* group : groups)
        std::ranges::move(group->take_timings(), std::back_inserter(timings));
    ReductionTiming reduction = take_waits();
    require(!reduction.waits.empty(), "a step ends with a wait");
    const Wait last = reduction.waits.back();
    const double earlier_s = reduction.blocked_s - seconds_between(last.begin, last.end);
    double last_s = 0, rest_s = 0;  // of the last bucket, and of what was sent of it at the end
    for (comm::Timing& timing : timings) {
        const double seconds = seconds_between(timing.begin, timing.end);
        if (is_bucket(timing.label) && groups.front()->size() > 1) {
            reduction.bucket_s += seconds;
            if (is_weights(timing.label)) reduction.weights.seconds += seconds;
            const double blocked_s = std::max(0.0, seconds_between(last.begin, timing.end));
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
