// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/placement.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::train {

Placement::Placement(std::vector<Segment> segments) : segments_(std::move(segments)) {
    require(!segments_.empty(), "no segments to place");
    for (const Segment& segment : segments_)
        if (&segment != &segments_.back()) slot_size_ = std::max(slot_size_, segment.count);
    size_ = 2 * slot_size_ + segments_.back().count;
}

std::size_t Placement::segment_of(std::size_t element) const {
    const auto behind = std::ranges::upper_bound(segments_, element, {}, &Segment::first);
    return static_cast<std::size_t>(behind - segments_.begin()) - 1;
}

std::size_t Placement::at(std::size_t first, std::size_t count) const {
    if (!has_slots()) return first;
    const std::size_t number = segment_of(first);
    const Segment& segment = segments_[number];
    require(first - segment.first + count <= segment.count, "a range lies in two segments");
    return slot_of(number) * slot_size_ + first - segment.first;
}

}  // namespace lockstep::train
