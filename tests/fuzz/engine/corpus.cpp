// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/corpus.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/fuzz/engine/block_counts.hpp"

namespace lockstep::fuzz {
namespace {

// Counts are alike if they have the same number of bits. Exact counts would keep an input for each
// length of a loop.
std::uint8_t class_of(std::uint8_t count) {
    return static_cast<std::uint8_t>(1u << (std::bit_width(count) - 1));
}

}  // namespace

bool Corpus::look_for_new_blocks() {
    const std::span counts = block_counts();
    bool found = false;
    std::uint64_t eight = 0;
    for (std::size_t begin = 0; begin < counts.size(); begin += sizeof eight) {
        std::memcpy(&eight, &counts[begin], sizeof eight);
        if (eight == 0) continue;
        for (std::size_t i = begin; i < begin + sizeof eight; ++i) {
            if (counts[i] == 0) continue;
            const std::uint8_t bit = class_of(counts[i]);
            if (seen_[i] == 0) ++blocks_;
            if ((seen_[i] & bit) == 0) found = true;
            seen_[i] |= bit;
            counts[i] = 0;
        }
    }
    return found;
}

// The first inputs are sound files. One step from them leads past checks at which most inputs that
// were kept later fail.
const Bytes& Corpus::choose(Mutator& random) const {
    constexpr std::size_t sound = 8;
    const std::size_t one = random.below(inputs_.size()), other = random.below(inputs_.size());
    switch (random.below(3)) {
        case 0:
            return inputs_[random.below(std::min(sound, inputs_.size()))];
        case 1:
            return inputs_[one];
        default:
            return inputs_[std::max(one, other)];
    }
}

}  // namespace lockstep::fuzz
