// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/fuzz/engine/bytes.hpp"
#include "tests/fuzz/engine/mutator.hpp"

namespace lockstep::fuzz {

// Keeps the inputs that passed blocks which no input before them passed, or passed as often.
class Corpus {
public:
    // Takes the counts of blocks since the last call and sets them to 0. Returns true if they show
    // something new.
    bool look_for_new_blocks();
    void add(Bytes input) { inputs_.push_back(std::move(input)); }
    // Returns an input. The first ones come most often, then the last ones.
    const Bytes& choose(Mutator& random) const;
    std::size_t size() const noexcept { return inputs_.size(); }
    std::size_t blocks() const noexcept { return blocks_; }

private:
    std::vector<Bytes> inputs_;
    std::array<std::uint8_t, 1 << 16> seen_{};  // a bit for each class of counts
    std::size_t blocks_ = 0;
};

}  // namespace lockstep::fuzz
