// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// A piece of an owned part that the host updates at once. Units are elements.
struct OffloadChunk {
    std::size_t part = 0;              // index among the owned parts
    std::size_t first = 0, count = 0;  // in the part
    std::size_t decay_word = 0;        // where its decay_lines() begin among those of all parts
};

// Cuts the owned parts into chunks whose gradients take at most that many bytes, but at least a
// word of decay_lines().
std::vector<OffloadChunk> offload_chunks(const std::vector<OwnedPart>& owned, std::size_t bytes);

// Returns the number of elements of the largest chunk; 0 if there is none.
std::size_t largest(const std::vector<OffloadChunk>& chunks);

}  // namespace lockstep::train
