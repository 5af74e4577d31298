// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::data {

// Holds the ids of a tokenizer's special tokens. Those of Lockstep's own tokenizers are the default
// values. A tokenizer from elsewhere may lack any of them but an end.
struct SpecialTokens {
    std::optional<std::int32_t> null = 0;  // fills up, and stands for an empty context
    // Stands before each label; it may be an end, too. Without it, the last token of a context
    // predicts the label's first one.
    std::optional<std::int32_t> start = 1;
    std::optional<std::int32_t> begin = std::nullopt;  // begins a text
    // A label ends with the first of them, and a reply ends at any. There is at least one.
    std::vector<std::int32_t> ends = {2};
    std::optional<std::int32_t> unk = 3;

    std::int32_t end() const { return ends.front(); }
    // Returns the token that an empty context consists of. Nothing: no context may be empty.
    std::optional<std::int32_t> empty_context() const noexcept {
        if (begin) return begin;
        return start ? null : std::nullopt;
    }

    friend bool operator==(const SpecialTokens&, const SpecialTokens&) = default;
};

}  // namespace lockstep::data
