// SPDX-License-Identifier: Apache-2.0
#include "data/bpe/merge_table.hpp"

#include <bit>

namespace lockstep::data {

MergeTable::MergeTable(const std::vector<Merge>& merges) {
    const std::size_t size = std::bit_ceil(merges.size() * 2 + 2);
    slots_.assign(size, Slot{});
    shift_ = 64 - std::countr_zero(size);
    for (const Merge& merge : merges) {
        const std::uint64_t key = key_of(merge.left, merge.right);
        slots_[slot_of(key)] = {key, {merge.rank, merge.merged}};
    }
}

}  // namespace lockstep::data
