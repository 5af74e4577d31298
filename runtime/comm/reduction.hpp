// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// into[i] = into[i] (+, min, max) from[i] for `count` elements; bf16 is added in fp32 and rounded
// once. `element` is not byte.
void reduce_into(void* into, const void* from, std::size_t count, Dtype element,
                 ReduceOp reduction);

// The elements [first, first + count) of a range, of whatever type they are.
HostRange part_of(const HostRange& range, std::size_t first, std::size_t count);

// The range cut into `parts` parts of which none differs from another by more than one element.
HostRange even_part_of(const HostRange& range, int part, int parts);

}  // namespace lockstep::comm
