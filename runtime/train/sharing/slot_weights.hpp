// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/reduction/reducer.hpp"
#include "runtime/train/reduction/weight_labels.hpp"

namespace lockstep::train {

// Brings weights to their slots (stage 3): each rank writes what it owns of a segment from its
// master, and the ranks gather the segment. While a model computes with one segment, the next one
// is on its way. All ranks need the same segments in the same order. Usage:
//
//     weights.need(first);  // before a block is read that begins with element `first`
//     weights.forget();     // after an update
template <class Ctx>
class SlotWeights {
public:
    using Space = typename Ctx::Space;

    // The references must outlive the object.
    SlotWeights(Ctx& context, comm::Collectives<Space>& group, const ParameterStore<Space>& store,
                std::vector<Bucket> buckets, Overlap overlap)
        : context_(context),
          group_(group),
          store_(store),
          buckets_(std::move(buckets)),
          labels_(weight_labels(store.table(), buckets_)),
          overlap_(overlap),
          arrivals_(segments().size()) {}

    // Makes what is queued next wait for the segment, and asks for the one behind it in the
    // direction in which the segments are needed.
    void need(std::size_t first) {
        const std::size_t segment = store_.weight_placement().segment_of(first);
        const bool last = segment + 1 == segments().size();
        const bool backward = !last && needed_.has_value() && segment > *needed_;
        const bool again = needed_ == segment;
        needed_ = segment;
        ask_for(segment);
        group_.finish(arrivals_[segment]);
        if (overlap_ == Overlap::off || again) return;
        if (backward) ask_for(segment + 1);
        if (!backward && segment > 0) ask_for(segment - 1);
        if (in_flight_ == InFlight::none) finish();
    }
    void allow(InFlight in_flight) {
        in_flight_ = in_flight;
        if (in_flight_ == InFlight::none) finish();
    }
    // Needs all segments in the order of forward.
    void pass_forward() {
        for (std::size_t i = segments().size(); i-- > 0;) need(segments()[i].first);
    }
    // Waits for everything that is on its way.
    void finish() {
        for (const comm::Ticket& arrival : arrivals_) group_.finish(arrival);
    }
    // Declares the weights in the slots to be old, and waits for those that are on their way.
    void forget() {
        finish();
        held_ = {};
        needed_.reset();
    }
    // Asks for what the next forward reads first.
    void ask_early() {
        const std::size_t last = segments().size() - 1;
        ask_for(last);
        if (last > 0) ask_for(last - 1);
    }

private:
    const std::vector<Segment>& segments() const { return store_.weight_placement().segments(); }
    void ask_for(std::size_t segment);
    comm::Ticket gather(std::size_t bucket);

    Ctx& context_;
    comm::Collectives<Space>& group_;
    const ParameterStore<Space>& store_;
    const std::vector<Bucket> buckets_;
    const std::vector<std::string> labels_;  // of the gathers of each bucket
    const Overlap overlap_;
    InFlight in_flight_ = InFlight::allowed;
    std::array<std::optional<std::size_t>, 3>
        held_;                            // segments in the slots, or on their way there
    std::optional<std::size_t> needed_;   // segment that was needed last
    std::vector<comm::Ticket> arrivals_;  // of each segment
};

template <class Ctx>
void SlotWeights<Ctx>::ask_for(std::size_t segment) {
    std::optional<std::size_t>& held = held_[store_.weight_placement().slot_of(segment)];
    if (held == segment) return;
    if (held) group_.finish(arrivals_[*held]);
    held = segment;
    const auto [first, count] = segments()[segment];
    for (std::size_t i = 0; i < buckets_.size(); ++i)
        if (buckets_[i].first >= first && buckets_[i].first < first + count)
            arrivals_[segment] = gather(i);
}

// fp16 travels as bytes, which every library knows.
template <class Ctx>
comm::Ticket SlotWeights<Ctx>::gather(std::size_t bucket) {
    const Bucket& all = buckets_[bucket];
    const OwnedPart& own = store_.owned()[bucket];
    const std::string& label = labels_[bucket];
    return with_element(typename Ctx::Elements{}, store_.precision(), [&]<class T>() {
        const View<T, Space> to = store_.template compute<T>(all.first, all.count);
        const View<T, Space> from = store_.template compute<T>(own.first, own.count);
        kernels::cast<float, T>(context_, store_.master(own), from);
        if constexpr (std::is_same_v<T, fp16>) {
            const auto bytes = [](View<T, Space> values) {
                return comm::Range<Space>(values.data(), values.size() * sizeof(T), Dtype::byte);
            };
            return group_.all_gather(bytes(from), bytes(to), label);
        } else {
            return group_.all_gather(from, to, label);
        }
    });
}

}  // namespace lockstep::train
