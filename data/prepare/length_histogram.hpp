// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace lockstep::data {

// Counts row lengths: bin b counts lengths of b bits, which are 2^(b-1) to 2^b - 1.
class LengthHistogram {
public:
    void add(std::uint32_t length) noexcept {
        ++bins_[static_cast<std::size_t>(std::bit_width(length))];
    }
    std::uint64_t operator[](std::size_t bin) const { return bins_.at(bin); }
    // Returns the range of a bin, such as "8-15".
    static std::string label(std::size_t bin) {
        if (bin < 2) return std::to_string(bin);
        return std::to_string(1ull << (bin - 1)) + "-" + std::to_string((1ull << bin) - 1);
    }

    static constexpr std::size_t bins = 33;

private:
    std::array<std::uint64_t, bins> bins_{};
};

}  // namespace lockstep::data
