// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/optim/state_chunks.hpp"

#include <algorithm>

#include "runtime/kernels/optimizers.hpp"

namespace lockstep::train {

std::vector<StateChunk> state_chunks(const std::vector<OwnedPart>& owned, std::size_t bytes) {
    constexpr std::size_t block = ScratchFile::block_values;
    const std::size_t most = std::max(bytes / ScratchFile::block, std::size_t{1}) * block;
    const std::size_t all = owned.empty() ? 0 : owned.back().packed + owned.back().count;
    std::vector<StateChunk> chunks;
    std::size_t word = 0;
    for (std::size_t first = 0; first < all; first += most) {
        StateChunk chunk{first, std::min(most, all - first), {}};
        for (std::size_t i = 0; i < owned.size(); ++i) {
            const OwnedPart& part = owned[i];
            const std::size_t begin = std::max(first, part.packed);
            const std::size_t end = std::min(first + chunk.count, part.packed + part.count);
            if (begin >= end) continue;
            const std::size_t in_part = begin - part.packed;
            chunk.parts.push_back({{part.first + in_part, end - begin, begin}, i, in_part, word});
            word += kernels::decay_words(end - begin);
        }
        chunks.push_back(std::move(chunk));
    }
    return chunks;
}

std::vector<OwnedPart> ranges_of(const std::vector<StateChunk>& chunks) {
    std::vector<OwnedPart> ranges;
    for (const StateChunk& chunk : chunks)
        for (const ChunkPart& part : chunk.parts) ranges.push_back(part.range);
    return ranges;
}

}  // namespace lockstep::train
