// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep::train {

// Whole blocks that lie one after the other in the flat buffers. Units are elements.
struct Segment {
    std::size_t first = 0, count = 0;
};

// Tells where the elements of a flat buffer lie in memory: all of them one after the other, or in
// slots. Then the segments take two slots in turn, and the last segment, which holds a tied table,
// has a place of its own. Addresses are a function of the element.
class Placement {
public:
    explicit Placement(std::size_t flat_size) : size_(flat_size) {}
    // The segments cover the flat buffer without gaps.
    explicit Placement(std::vector<Segment> segments);

    bool has_slots() const noexcept { return !segments_.empty(); }
    std::size_t size() const noexcept { return size_; }  // elements in memory
    const std::vector<Segment>& segments() const noexcept { return segments_; }

    // Returns the number of the segment that holds this element.
    std::size_t segment_of(std::size_t element) const;
    // Returns 0 or 1, or 2 for the place of the last segment.
    std::size_t slot_of(std::size_t segment) const {
        return segment + 1 == segments_.size() ? 2 : segment % 2;
    }
    // Returns where a range begins that lies in one segment.
    std::size_t at(std::size_t first, std::size_t count) const;

private:
    std::vector<Segment> segments_;  // empty: no slots
    std::size_t slot_size_ = 0, size_ = 0;
};

}  // namespace lockstep::train
