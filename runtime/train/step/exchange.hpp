// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/train/step/buckets.hpp"

namespace lockstep::train {

// Where the buckets lie in bf16 while they travel. A bucket that was converted needs its fp32
// elements no more until it is back, so later ones take their place: the first of them need memory
// of their own, the others none.
struct Exchange {
    enum class Memory { spare, gradient };
    struct Place {
        Memory memory;
        std::size_t first;  // in elements of bf16
    };

    std::vector<Place> places;  // of each bucket
    std::size_t spare = 0;      // elements of bf16
};

// For buckets that are converted front to back, and back to front when they return: then each is
// written where nothing lies that is still needed.
Exchange plan_exchange(const std::vector<Bucket>& buckets);

}  // namespace lockstep::train
