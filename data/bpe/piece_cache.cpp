// SPDX-License-Identifier: Apache-2.0
#include "data/bpe/piece_cache.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/files/hash.hpp"

namespace lockstep::data {

PieceCache::PieceCache() : slots_(slots) {}

bool PieceCache::find(std::string_view piece, std::vector<std::int32_t>& out) const {
    if (piece.size() > longest) return false;
    const std::size_t place = hash64(piece) % slots;
    for (const std::size_t i : {place, place ^ 1}) {
        const Slot& slot = slots_[i];
        if (slot.bytes != piece.size() ||
            std::memcmp(slot.text.data(), piece.data(), piece.size()) != 0)
            continue;
        out.insert(out.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
        return true;
    }
    return false;
}

void PieceCache::insert(std::string_view piece, std::span<const std::int32_t> ids) {
    if (piece.empty() || piece.size() > longest || ids.size() > most) return;
    const std::size_t place = hash64(piece) % slots;
    // The newest piece of two that share a place is in the first slot.
    slots_[place ^ 1] = slots_[place];
    Slot& slot = slots_[place];
    slot.bytes = static_cast<std::uint8_t>(piece.size());
    slot.count = static_cast<std::uint8_t>(ids.size());
    std::copy(piece.begin(), piece.end(), slot.text.begin());
    std::copy(ids.begin(), ids.end(), slot.ids.begin());
}

}  // namespace lockstep::data
