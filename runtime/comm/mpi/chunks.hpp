// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/comm/reduction.hpp"

namespace lockstep::comm {

// Calls `action` on consecutive pieces of at most `max_count` elements that cover the range,
// because MPI counts with an int.
template <class Action>
void in_chunks(const HostRange& range, std::size_t max_count, const Action& action) {
    for (std::size_t first = 0; first < range.count; first += max_count) {
        action(part_of(range, first, std::min(max_count, range.count - first)));
    }
}

}  // namespace lockstep::comm
