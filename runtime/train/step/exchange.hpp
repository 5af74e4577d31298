// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/train/step/buckets.hpp"

namespace lockstep::train {

// In which order the buckets are sent.
enum class BucketOrder : std::int64_t { front_to_back, last_one_first };

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

// For buckets that are converted in this order, and in the opposite one when they return: then each
// is written where nothing lies that is still needed.
Exchange plan_exchange(const std::vector<Bucket>& buckets, BucketOrder order);
// Elements of bf16 that are enough for whatever order the options allow.
std::size_t exchange_spare(const std::vector<Bucket>& buckets, const ReducerOptions& options);

}  // namespace lockstep::train
