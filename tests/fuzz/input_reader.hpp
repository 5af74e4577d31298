// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace lockstep::fuzz {

// Takes numbers and pieces from the beginning of an input. What is missing at its end is zero or
// empty.
class InputReader {
public:
    InputReader(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

    bool at_end() const noexcept { return rest_.empty(); }
    // Little endian.
    template <class Integer>
    Integer number() {
        Integer value = 0;
        const auto bytes = piece(sizeof value);
        std::memcpy(&value, bytes.data(), bytes.size());
        return value;
    }
    std::span<const std::uint8_t> piece(std::size_t most) {
        const auto taken = rest_.first(std::min(most, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }

private:
    std::span<const std::uint8_t> rest_;
};

}  // namespace lockstep::fuzz
