// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer_steps/found_parts.hpp"
#include "data/tokenizer_steps/pre_tokenizer.hpp"

namespace lockstep::data {

// What becomes of the matches of a pattern: they are left out, are pieces of their own, become a
// part of the piece before or after them, or neighbours of the same kind become one piece.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Reads the name of a behaviour as files have it, such as MergedWithNext. `part` is for errors.
SplitBehavior behavior_of(const JsonPart& part, const std::string& name);

// swapped: what is between matches counts as a match, and the other way round.
enum class Parts { as_found, swapped };

// Splits each piece by a pattern.
class Splitting final : public PreTokenizer {
public:
    Splitting(std::unique_ptr<SplitPattern> pattern, SplitBehavior behavior, Parts parts)
        : pattern_(std::move(pattern)), behavior_(behavior), parts_(parts) {}

    void split(const Piece& piece, PieceSink& sink) const override;

private:
    void split_isolated(const Piece& piece, PieceSink& sink) const;

    std::unique_ptr<SplitPattern> pattern_;
    SplitBehavior behavior_;
    Parts parts_;
};

}  // namespace lockstep::data
