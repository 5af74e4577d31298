// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/train/step/buckets.hpp"

namespace lockstep::train {

// The order in which the buckets are sent.
enum class BucketOrder : std::int64_t { front_to_back, last_one_first };

// Tells where the buckets lie in bf16 while they travel. A converted bucket does not need its fp32
// elements until it is back, so later buckets use that memory: only the first ones need extra
// memory.
struct Exchange {
    enum class Memory { spare, gradient };
    struct Place {
        Memory memory;
        std::size_t first;  // in elements of bf16
    };

    std::vector<Place> places;  // one for each bucket
    std::size_t spare = 0;      // elements of bf16
};

// Plans the memory for buckets that are converted in this order and converted back in the opposite
// order. No bucket is then written over values that are still needed.
Exchange plan_exchange(const std::vector<Bucket>& buckets, BucketOrder order);
// Returns how many elements of bf16 are enough for every order that the options allow.
std::size_t exchange_spare(const std::vector<Bucket>& buckets, const ReducerOptions& options);

}  // namespace lockstep::train
