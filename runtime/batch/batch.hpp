// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::train {

// One side of a micro-batch: sequences laid end to end, no padding between them. The totals may
// exceed offsets.back(): the rest is filler (token 0), so that shapes repeat.
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

// What of a micro-batch shapes the work on it: totals with filler, the longest sequences.
struct BatchShape {
    std::int64_t source_total = 0, target_total = 0, sequences = 0;
    std::int32_t longest_source = 0, longest_target = 0;

    auto operator<=>(const BatchShape&) const = default;
};

// A micro-batch of one lane. For a decoder-only model `source` is empty and `target` holds context
// and label together. Target tokens are the labels shifted right behind __start__.
struct Batch {
    RaggedTokens source, target;
    std::vector<std::int32_t> labels;  // [target total]; -1: no label (filler, or context)
    // [sequences] Where labels follow from the target's tokens: each sequence's first position with
    // a label, from which on a token's label is the next token, and the last token's label. Both
    // empty: only `labels` tells.
    std::vector<std::int32_t> label_starts, last_labels;
    std::vector<std::uint32_t> rows;  // [sequences] global row ids
    std::int64_t label_tokens = 0;    // labels >= 0
    std::int64_t truncated_rows = 0;  // rows cut to the model's positions
    // Of each row, where an evaluation asks for them: the context as it was before any cut, and
    // every alternative label as written in the text.
    std::vector<std::vector<std::int32_t>> contexts;
    std::vector<std::vector<std::string>> references;

    bool empty() const noexcept { return rows.empty(); }
};

}  // namespace lockstep::train
