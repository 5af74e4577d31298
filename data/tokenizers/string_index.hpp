// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/hash.hpp"

namespace lockstep::data {

// Numbers strings in the order of add() and finds them by content. It uses open addressing over one
// text buffer, so neither adding nor finding allocates per string.
class StringIndex {
public:
    StringIndex();

    // Returns the string's number. A new string gets the next number.
    std::int32_t add(std::string_view text);
    // Returns a negative value if the string is not there.
    std::int32_t find(std::string_view text) const noexcept {
        return slots_[slot_of(text, hash64(text))].id;
    }
    std::string_view text(std::int32_t id) const {
        const auto i = static_cast<std::size_t>(id);
        return std::string_view(texts_).substr(begins_.at(i), begins_.at(i + 1) - begins_[i]);
    }
    std::int32_t size() const noexcept { return static_cast<std::int32_t>(begins_.size()) - 1; }
    std::size_t bytes() const noexcept;

private:
    struct Slot {
        std::uint32_t tag = 0;  // upper half of the hash
        std::int32_t id = -1;
    };

    // Returns the slot that has the text, or the free slot for it.
    std::size_t slot_of(std::string_view text, std::uint64_t hash) const noexcept;
    void grow();

    std::vector<Slot> slots_;  // a power of two, at most half full
    std::string texts_;
    std::vector<std::size_t> begins_{0};
};

}  // namespace lockstep::data
