// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::train {

// Holds the source or the target side of a micro-batch. Its sequences are stored end to end,
// without padding between them. tokens may be longer than offsets.back(): the rest is filler (token
// 0), which makes shapes repeat.
struct RaggedTokens {
    std::vector<std::int32_t> tokens;   // [total]
    std::vector<std::int32_t> offsets;  // [sequences + 1]
    std::int32_t longest = 0;

    std::int64_t total() const noexcept { return static_cast<std::int64_t>(tokens.size()); }
    std::int64_t real() const noexcept { return offsets.empty() ? 0 : offsets.back(); }
    std::int64_t sequences() const noexcept {
        return offsets.empty() ? 0 : static_cast<std::int64_t>(offsets.size()) - 1;
    }
};

// These numbers of a micro-batch determine the shapes of its work: totals with filler, and the
// longest sequences.
struct BatchShape {
    std::int64_t source_total = 0, target_total = 0, sequences = 0;
    std::int32_t longest_source = 0, longest_target = 0;

    auto operator<=>(const BatchShape&) const = default;
};

// Holds a micro-batch of one lane. A decoder-only model leaves `source` empty, and `target` holds
// context and label together. Target tokens are the labels shifted right after __start__.
struct Batch {
    RaggedTokens source, target;
    std::vector<std::int32_t> labels;  // [target total]; -1: no label (filler, or context)
    // [sequences] These are set if the labels follow from the target's tokens: label_starts is each
    // sequence's first position with a label. From there on, the label of a token is the next
    // token, and the label of the last token is in last_labels. Both are empty if the labels cannot
    // be derived: then use `labels`.
    std::vector<std::int32_t> label_starts, last_labels;
    std::vector<std::uint32_t> rows;  // [sequences] global row ids
    std::int64_t label_tokens = 0;    // number of labels >= 0
    std::int64_t truncated_rows = 0;  // rows cut to the model's maximum length
    // If an evaluation asks for them, these hold for each row the context before any cut, and every
    // alternative label as written in the text.
    std::vector<std::vector<std::int32_t>> contexts;
    std::vector<std::vector<std::string>> references;

    bool empty() const noexcept { return rows.empty(); }
};

}  // namespace lockstep::train
