// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "data/tokenizer_steps/pre_tokenizer.hpp"
#include "data/tokenizers/token_counts.hpp"

namespace lockstep::data {

// Counts the words of texts as a byte-level tokenizer splits them.
class WordCounter {
public:
    WordCounter();

    void add(std::string_view text);
    TokenCounts& counts() noexcept { return counts_; }

private:
    PreTokenizers splitting_;
    TokenCounts counts_;
};

// Counts the characters of texts.
class CharacterCounter {
public:
    void add(std::string_view text);
    TokenCounts& counts() noexcept { return counts_; }

private:
    TokenCounts counts_;
};

// Returns the sums, sorted by token.
std::vector<TokenCount> sum_of(const std::vector<TokenCounts*>& parts);

}  // namespace lockstep::data
