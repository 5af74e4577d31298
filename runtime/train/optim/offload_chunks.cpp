// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/optim/offload_chunks.hpp"

#include <algorithm>

#include "runtime/kernels/optimizers.hpp"

namespace lockstep::train {

std::vector<OffloadChunk> offload_chunks(const std::vector<OwnedPart>& owned, std::size_t bytes) {
    constexpr std::size_t of_word = 32 * kernels::decay_line;
    const std::size_t most = std::max(bytes / sizeof(float) / of_word, std::size_t{1}) * of_word;
    std::vector<OffloadChunk> chunks;
    std::size_t word = 0;
    for (std::size_t part = 0; part < owned.size(); ++part) {
        const std::size_t size = owned[part].count;
        for (std::size_t first = 0; first < size; first += most)
            chunks.push_back({part, first, std::min(most, size - first), word + first / of_word});
        word += kernels::decay_words(size);
    }
    return chunks;
}

std::size_t largest(const std::vector<OffloadChunk>& chunks) {
    std::size_t count = 0;
    for (const OffloadChunk& chunk : chunks) count = std::max(count, chunk.count);
    return count;
}

}  // namespace lockstep::train
