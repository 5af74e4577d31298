// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/mesh.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/train/reduction/reduction_timing.hpp"
#include "runtime/train/reduction/weight_labels.hpp"

namespace lockstep::train {

// Says what a device waits for.
enum class WaitFor { gradients, weights };

// A group whose times are taken, and what its sums are.
template <class Space>
struct TimedGroup {
    comm::Collectives<Space>* collectives = nullptr;
    Travel ReductionTiming::*sums = &ReductionTiming::replicas;
};

// Returns all groups of a mesh, each once, and the world first.
template <class Space>
std::vector<TimedGroup<Space>> timed_groups(const comm::Mesh<Space>& mesh) {
    const bool one_replica = mesh.shape.replica == 1 && mesh.shape.shard > 1;
    std::vector<TimedGroup<Space>> groups{
        {&mesh.world, one_replica ? &ReductionTiming::gradients : &ReductionTiming::replicas}};
    const auto add = [&](comm::Collectives<Space>& group, Travel ReductionTiming::*sums) {
        if (&group != &mesh.world && group.size() > 1) groups.push_back({&group, sums});
    };
    add(mesh.shard(), &ReductionTiming::gradients);
    add(mesh.replica(), &ReductionTiming::replicas);
    return groups;
}

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
            labels_.push_back(bucket_label + std::to_string(labels_.size()));
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
    ReductionTiming take(const std::vector<TimedGroup<Space>>& groups);

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
    // Counts the operations of the kind of a bucket.
    void add_travel(const std::vector<comm::Timing>& timings, const TimedGroup<Space>& group,
                    ReductionTiming& reduction) const;

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
void ReductionClock<Ctx>::add_travel(const std::vector<comm::Timing>& timings,
                                     const TimedGroup<Space>& group,
                                     ReductionTiming& reduction) const {
    for (const comm::Timing& timing : timings) {
        if (!is_bucket(timing.label)) continue;
        const double seconds = seconds_between(timing.begin, timing.end);
        reduction.bucket_s += seconds;
        if (is_weights(timing.label)) {
            reduction.weights.seconds += seconds;
            continue;
        }
        Travel& sums = reduction.*group.sums;
        sums.seconds += seconds;
        sums.blocked_s += seconds_within(reduction.waits, timing.begin, timing.end);
    }
}

template <class Ctx>
ReductionTiming ReductionClock<Ctx>::take(const std::vector<TimedGroup<Space>>& groups) {
    require(!steps_.empty(), "no reduction was finished");
    const bool alone = groups.front().collectives->size() == 1;
    // The host may wait for other ranks here, and the watchdog sees it by their collectives alone.
    std::vector<std::vector<comm::Timing>> of_groups;
    for (const TimedGroup<Space>& group : groups)
        of_groups.push_back(group.collectives->take_timings());
    ReductionTiming reduction = take_waits();
    require(!reduction.waits.empty(), "a step ends with a wait");
    std::vector<comm::Timing> timings;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (!alone) add_travel(of_groups[i], groups[i], reduction);
        std::ranges::move(of_groups[i], std::back_inserter(timings));
    }
    const Wait last = reduction.waits.back();
    const double earlier_s = reduction.blocked_s - seconds_between(last.begin, last.end);
    double last_s = 0, rest_s = 0;  // of the last bucket, and of what was sent of it at the end
    for (comm::Timing& timing : timings) {
        const double seconds = seconds_between(timing.begin, timing.end);
        if (is_bucket(timing.label) && !alone) {
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
