// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace lockstep::data::unicode {

struct Range {
    char32_t first, last;
};

// Every `stride`-th code point from first to last has its lower case `delta` further on.
struct LowerRange {
    char32_t first, last;
    int stride, delta;
};

// Ascending, not overlapping. `cased` leaves out what is also case-ignorable, as only the order in
// which the final-sigma rule asks matters.
extern const std::span<const Range> word_ranges, space_ranges, cased_ranges, ignorable_ranges;
extern const std::span<const LowerRange> lower_ranges;

}  // namespace lockstep::data::unicode
