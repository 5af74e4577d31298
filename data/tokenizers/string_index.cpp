// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/string_index.hpp"

namespace lockstep::data {
namespace {

constexpr std::size_t first_slots = 1024;

std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

StringIndex::StringIndex() : slots_(first_slots) {}

std::int32_t StringIndex::add(std::string_view text) {
    const std::uint64_t hash = hash64(text);
    std::size_t slot = slot_of(text, hash);
    if (slots_[slot].id >= 0) return slots_[slot].id;
    if (2 * begins_.size() > slots_.size()) {
        grow();
        slot = slot_of(text, hash);
    }
    const std::int32_t id = size();
    texts_ += text;
    begins_.push_back(texts_.size());
    slots_[slot] = {tag_of(hash), id};
    return id;
}

std::size_t StringIndex::bytes() const noexcept {
    return slots_.size() * sizeof(Slot) + texts_.capacity() + begins_.capacity() * sizeof(size_t);
}

std::size_t StringIndex::slot_of(std::string_view text, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(hash) & mask;
    for (; slots_[slot].id >= 0; slot = (slot + 1) & mask) {
        if (slots_[slot].tag != tag_of(hash)) continue;
        const auto i = static_cast<std::size_t>(slots_[slot].id);
        const std::size_t length = begins_[i + 1] - begins_[i];
        if (length == text.size() && texts_.compare(begins_[i], length, text) == 0) break;
    }
    return slot;
}

void StringIndex::grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& entry : old) {
        if (entry.id < 0) continue;
        std::size_t slot = static_cast<std::size_t>(hash64(text(entry.id))) & mask;
        while (slots_[slot].id >= 0) slot = (slot + 1) & mask;
        slots_[slot] = entry;
    }
}

}  // namespace lockstep::data
