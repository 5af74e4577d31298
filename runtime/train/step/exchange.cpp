// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/exchange.hpp"

#include <algorithm>

namespace lockstep::train {

namespace {

using Memory = Exchange::Memory;

// A range of the gradient's memory that is free to hold bf16. Offsets count elements of bf16, two
// of which fit into one of fp32.
struct Free {
    std::size_t begin = 0, end = 0;

    bool take(std::size_t count, Exchange::Place& place) {
        if (begin + count > end) return false;
        place = {Memory::gradient, begin};
        begin += count;
        return true;
    }
};

}  // namespace

Exchange plan_exchange(const std::vector<Bucket>& buckets, BucketOrder order) {
    Exchange exchange;
    exchange.places.resize(buckets.size());
    const auto take_spare = [&](std::size_t bucket) {
        exchange.places[bucket] = {Memory::spare, exchange.spare};
        exchange.spare += buckets[bucket].count;
    };
    std::size_t others = buckets.size();
    Free before, of_last;
    if (order == BucketOrder::last_one_first && others > 0) {
        take_spare(--others);
        const auto& [first, count] = buckets[others];
        of_last = {2 * first, 2 * (first + count)};
    }
    for (std::size_t bucket = 0; bucket < others; ++bucket) {
        const auto& [first, count] = buckets[bucket];
        before.end = 2 * first;
        Exchange::Place& place = exchange.places[bucket];
        if (!of_last.take(count, place) && !before.take(count, place)) take_spare(bucket);
    }
    return exchange;
}

std::size_t exchange_spare(const std::vector<Bucket>& buckets, const ReducerOptions& options) {
    const std::size_t usual = plan_exchange(buckets, BucketOrder::front_to_back).spare;
    if (options.table_sum == TableSum::at_once) return usual;
    return std::max(usual, plan_exchange(buckets, BucketOrder::last_one_first).spare);
}

}  // namespace lockstep::train
