// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace lockstep::data::unicode {

struct Range {
    char32_t first, last;
};

// Every `stride`-th code point from first to last has its lower case at an offset of `delta`.
struct LowerRange {
    char32_t first, last;
    int stride, delta;
};

// The ranges ascend and do not overlap. `cased` leaves out code points that are also
// case-ignorable: the rule for the final sigma tests for case-ignorable ones first.
extern const std::span<const Range> word_ranges, space_ranges, cased_ranges, ignorable_ranges;
extern const std::span<const LowerRange> lower_ranges;

}  // namespace lockstep::data::unicode
