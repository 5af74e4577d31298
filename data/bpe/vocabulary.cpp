// SPDX-License-Identifier: Apache-2.0
#include "data/bpe/vocabulary.hpp"

#include "runtime/core/error.hpp"

namespace lockstep::data {

Vocabulary::Added Vocabulary::add(std::string piece, std::int32_t id) {
    require(id >= 0 && id < id_limit, "an id of a vocabulary is from 0 to id_limit - 1");
    const auto place = static_cast<std::size_t>(id);
    if (place < by_id_.size() && by_id_[place] != nullptr) return Added::id_is_taken;
    const auto [entry, is_new] = ids_.try_emplace(std::move(piece), id);
    if (!is_new) return Added::piece_is_known;
    if (place >= by_id_.size()) by_id_.resize(place + 1);
    by_id_[place] = &entry->first;
    return Added::yes;
}

std::int32_t Vocabulary::find(std::string_view piece) const noexcept {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? no_id : found->second;
}

std::optional<std::string_view> Vocabulary::piece(std::int32_t id) const noexcept {
    if (id < 0 || id >= size()) return std::nullopt;
    const std::string* piece = by_id_[static_cast<std::size_t>(id)];
    if (piece == nullptr) return std::nullopt;
    return *piece;
}

}  // namespace lockstep::data
