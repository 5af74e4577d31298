// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// What a chunk has of an owned part. Units are elements.
struct ChunkPart {
    OwnedPart range;             // of the part
    std::size_t part = 0;        // index among the owned parts
    std::size_t in_part = 0;     // where the range begins there
    std::size_t decay_word = 0;  // where its decay_lines() begin among those of all ranges
};

// A piece of what a rank owns, in the order in which a store packs it, that is read from a file,
// updated and written at once.
struct StateChunk {
    std::size_t first = 0, count = 0;  // packed elements
    std::vector<ChunkPart> parts;
};

// Cuts the owned parts into chunks of at most that many bytes of fp32 values, but at least a block
// of a ScratchFile. All begin where a block does.
std::vector<StateChunk> state_chunks(const std::vector<OwnedPart>& owned, std::size_t bytes);

// Returns the ranges of all chunks, one after the other.
std::vector<OwnedPart> ranges_of(const std::vector<StateChunk>& chunks);

}  // namespace lockstep::train
