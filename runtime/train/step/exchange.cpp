// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/exchange.hpp"

namespace lockstep::train {

Exchange plan_exchange(const std::vector<Bucket>& buckets) {
    Exchange exchange;
    std::size_t taken = 0;  // of the gradient's memory, from its front
    for (const auto& [first, count] : buckets) {
        // Two fit into an element of fp32.
        const bool fits = taken + count <= 2 * first;
        std::size_t& end = fits ? taken : exchange.spare;
        exchange.places.push_back(
            {fits ? Exchange::Memory::gradient : Exchange::Memory::spare, end});
        end += count;
    }
    return exchange;
}

}  // namespace lockstep::train
