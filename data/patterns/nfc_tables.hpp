// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace lockstep::data {

// The canonical combining class, where it is not 0.
struct CombiningRange {
    char32_t first, last;
    unsigned char combining_class;
};

// `second` is 0 where `composed` only stands for another character.
struct Decomposition {
    char32_t composed, first, second;
};

extern const std::span<const CombiningRange> combining_ranges;  // ascending
extern const std::span<const Decomposition> decompositions;     // by `composed`
extern const std::span<const Decomposition> compositions;       // by `first` and `second`

}  // namespace lockstep::data
