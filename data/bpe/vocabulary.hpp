// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lockstep::data {

// No id of a vocabulary may be as large: 4 Mi. The largest published vocabularies have 262,144.
inline constexpr std::int32_t id_limit = 1 << 22;

// Says that a vocabulary does not have a piece.
inline constexpr std::int32_t no_id = -1;

// Lets a map of strings be searched for a std::string_view.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>{}(text);
    }
};
using IdOfText = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

// Pieces of text and their ids, which may have gaps.
class Vocabulary {
public:
    enum class Added { yes, piece_is_known, id_is_taken };

    // The id is in [0, id_limit).
    Added add(std::string piece, std::int32_t id);
    // Returns no_id if the piece is not there.
    std::int32_t find(std::string_view piece) const noexcept;
    // Returns nothing for an id that no piece has.
    std::optional<std::string_view> piece(std::int32_t id) const noexcept;
    std::size_t pieces() const noexcept { return ids_.size(); }
    // Returns the number of ids: the largest one plus 1.
    std::int32_t size() const noexcept { return static_cast<std::int32_t>(by_id_.size()); }

private:
    IdOfText ids_;
    std::vector<const std::string*> by_id_;
};

}  // namespace lockstep::data
