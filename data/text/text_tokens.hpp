// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace lockstep::data {

// Counts the tokens of texts, each text once, and how many of them are __unk__. Delimiters between
// texts do not count.
struct TextTokens {
    std::uint64_t all = 0, unknown = 0;

    // Without `unk`, every token is a known one.
    void add(std::span<const std::int32_t> ids, std::optional<std::int32_t> unk) noexcept {
        all += ids.size();
        if (unk) unknown += static_cast<std::uint64_t>(std::count(ids.begin(), ids.end(), *unk));
    }
    void add(const TextTokens& more) noexcept {
        all += more.all;
        unknown += more.unknown;
    }
    double unknown_share() const noexcept {
        return all == 0 ? 0 : static_cast<double>(unknown) / static_cast<double>(all);
    }
};

}  // namespace lockstep::data
