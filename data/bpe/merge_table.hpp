// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::data {

// Two neighbouring symbols with these ids become one with the id `merged`. Smaller ranks go first.
struct Merge {
    std::int32_t left, right, merged;
    std::uint32_t rank;
};

// Finds the merge of two ids by hashing, in one or two reads of memory.
class MergeTable {
public:
    MergeTable() = default;
    // If a pair is there twice, the later one counts.
    explicit MergeTable(const std::vector<Merge>& merges);

    struct Found {
        std::uint32_t rank = UINT32_MAX;  // UINT32_MAX: these two are not merged
        std::int32_t merged = -1;
    };
    Found find(std::int32_t left, std::int32_t right) const noexcept {
        const Slot& slot = slots_[slot_of(key_of(left, right))];
        return slot.found;
    }

private:
    struct Slot {
        std::uint64_t key = free;
        Found found;
    };
    static constexpr std::uint64_t free = UINT64_MAX;

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) noexcept {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
               static_cast<std::uint32_t>(right);
    }
    std::size_t slot_of(std::uint64_t key) const noexcept {
        std::size_t i = (key * 0x9E3779B97F4A7C15u) >> shift_;
        while (slots_[i].key != key && slots_[i].key != free) i = (i + 1) & (slots_.size() - 1);
        return i;
    }

    std::vector<Slot> slots_{2};  // a power of two, at most half full
    int shift_ = 63;
};

}  // namespace lockstep::data
