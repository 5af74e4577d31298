// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// into[i] = into[i] (+, min, max) from[i] for `count` elements; bf16 is added in fp32 and rounded
// once. `element` is not byte.
void reduce_into(void* into, const void* from, std::size_t count, Dtype element,
                 ReduceOp reduction);

// Returns the elements [first, first + count) of a range of any type.
HostRange part_of(const HostRange& range, std::size_t first, std::size_t count);

// Cuts the range into `parts` parts whose sizes differ by at most one element, and returns number
// `part`.
HostRange even_part_of(const HostRange& range, int part, int parts);

}  // namespace lockstep::comm
