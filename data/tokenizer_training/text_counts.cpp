// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_training/text_counts.hpp"

#include <algorithm>
#include <string>

#include "data/text/unicode.hpp"
#include "data/tokenizer_training/new_tokenizer.hpp"

namespace lockstep::data {
namespace {

class CountedPieces final : public PieceSink {
public:
    explicit CountedPieces(TokenCounts& counts) : counts_(counts) {}
    void take(const Piece& piece) override { counts_.add(piece.text); }

private:
    TokenCounts& counts_;
};

}  // namespace

WordCounter::WordCounter() : splitting_(byte_level_splitting()) {}

void WordCounter::add(std::string_view text) {
    if (text.empty()) return;
    CountedPieces sink(counts_);
    splitting_.split({text, Piece::Place::begin}, sink);
}

void CharacterCounter::add(std::string_view text) {
    while (!text.empty()) {
        const std::size_t bytes = std::max<std::size_t>(1, unicode::decode(text).bytes);
        counts_.add(text.substr(0, bytes));
        text.remove_prefix(bytes);
    }
}

std::vector<TokenCount> sum_of(const std::vector<TokenCounts*>& parts) {
    TokenCounts sum;
    for (TokenCounts* part : parts)
        for (const auto& [token, count] : part->take()) sum.add(token, count);
    return sum.take();
}

}  // namespace lockstep::data
