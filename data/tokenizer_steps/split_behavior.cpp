// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/split_behavior.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

using Kind = FoundPart::Kind;
using Texts = std::vector<std::string_view>;

// These two parts follow each other in a text.
std::string_view spanning(std::string_view first, std::string_view second) {
    return {first.data(), first.size() + second.size()};
}

Texts contiguous(const std::vector<FoundPart>& parts) {
    Texts texts;
    Kind previous = Kind::between;
    for (const FoundPart& part : parts) {
        if (part.kind == previous && !texts.empty())
            texts.back() = spanning(texts.back(), part.text);
        else
            texts.push_back(part.text);
        previous = part.kind;
    }
    return texts;
}

// Joins each match, unless it follows another match, to the part before it.
template <class Iterator, class Join>
Texts merged(Iterator begin, Iterator end, Join join) {
    Texts texts;
    Kind previous = Kind::between;
    for (Iterator part = begin; part != end; ++part) {
        if (part->kind == Kind::match && previous != Kind::match && !texts.empty())
            texts.back() = join(texts.back(), part->text);
        else
            texts.push_back(part->text);
        previous = part->kind;
    }
    return texts;
}

Texts pieces_of(const std::vector<FoundPart>& parts, SplitBehavior behavior) {
    if (behavior == SplitBehavior::contiguous) return contiguous(parts);
    if (behavior == SplitBehavior::merged_with_previous)
        return merged(parts.begin(), parts.end(), spanning);
    if (behavior == SplitBehavior::merged_with_next) {
        Texts texts = merged(parts.rbegin(), parts.rend(),
                             [](auto later, auto earlier) { return spanning(earlier, later); });
        std::reverse(texts.begin(), texts.end());
        return texts;
    }
    Texts texts;
    for (const FoundPart& part : parts)
        if (behavior == SplitBehavior::isolated || part.kind != Kind::match)
            texts.push_back(part.text);
    return texts;
}

Piece::Place place_of(std::string_view text, const Piece& whole) {
    return text.data() == whole.text.data() ? whole.place : Piece::Place::later;
}

}  // namespace

SplitBehavior behavior_of(const JsonPart& part, const std::string& name) {
    if (name == "Removed") return SplitBehavior::removed;
    if (name == "Isolated") return SplitBehavior::isolated;
    if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
    if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
    if (name == "Contiguous") return SplitBehavior::contiguous;
    part.refuse("the behavior '" + shown(name) +
                "' is not known; expected Removed, Isolated, MergedWithPrevious, MergedWithNext "
                "or Contiguous");
}

// Patterns of byte-level tokenizers take this way. Nothing needs to be kept.
void Splitting::split_isolated(const Piece& piece, PieceSink& sink) const {
    const auto give = [&](std::size_t begin, std::size_t end) {
        if (begin == end) return;
        const std::string_view text = piece.text.substr(begin, end - begin);
        sink.take({text, place_of(text, piece)});
    };
    std::size_t end = 0;
    Matches matches(piece.text, *pattern_);
    for (PatternMatch match{}; matches.next(match); end = match.end) {
        give(end, match.begin);
        give(match.begin, match.end);
    }
    give(end, piece.text.size());
}

void Splitting::split(const Piece& piece, PieceSink& sink) const {
    if (behavior_ == SplitBehavior::isolated) return split_isolated(piece, sink);
    std::vector<FoundPart> parts;
    find_parts(piece.text, *pattern_, parts);
    if (parts_ == Parts::swapped) {
        for (FoundPart& part : parts)
            part.kind = part.kind == Kind::match ? Kind::between : Kind::match;
    }
    for (const std::string_view text : pieces_of(parts, behavior_))
        if (!text.empty()) sink.take({text, place_of(text, piece)});
}

}  // namespace lockstep::data
