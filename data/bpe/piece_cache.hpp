// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lockstep::data {

// Remembers the ids of short pieces of text in a fixed amount of memory: a new piece takes the
// place of an older one.
class PieceCache {
public:
    PieceCache();

    // Appends the ids of a piece and returns true if it is remembered.
    bool find(std::string_view piece, std::vector<std::int32_t>& out) const;
    // Does nothing for a piece that is too long or has too many ids.
    void insert(std::string_view piece, std::span<const std::int32_t> ids);

private:
    static constexpr std::size_t longest = 26, most = 9, slots = std::size_t{1} << 15;
    struct Slot {
        std::uint8_t bytes = 0;  // 0: free
        std::uint8_t count = 0;
        std::array<char, longest> text;
        std::array<std::int32_t, most> ids;
    };
    static_assert(sizeof(Slot) == 64);

    std::vector<Slot> slots_;
};

}  // namespace lockstep::data
