// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/dictionary.hpp"
#include "data/tokenizers/string_index.hpp"

namespace lockstep::data {

// Counts tokens.
class TokenCounts {
public:
    void add(std::string_view token, std::uint64_t count = 1) {
        const auto id = static_cast<std::size_t>(index_.add(token));
        if (id == counts_.size()) counts_.push_back(0);
        counts_[id] += count;
    }
    // Counts the tokens of a text as the `re` tokenizer splits it.
    void add_text(std::string_view text, LetterCase letter_case);

    std::size_t bytes() const noexcept { return index_.bytes() + counts_.capacity() * 8; }
    std::vector<TokenCount> take();  // sorted by token; empties the object

private:
    StringIndex index_;
    std::vector<std::uint64_t> counts_;
};

// Counts any number of tokens in bounded memory: sorted runs go to files, which are merged at the
// end. Safe from several threads.
class CountRuns {
public:
    // Run files go to `directory` and are removed after the merge.
    explicit CountRuns(std::string directory) : directory_(std::move(directory)) {}

    void write(TokenCounts& counts);
    // Returns the sums of all written counts and `last`. Tokens that the options exclude may
    // already be missing. Throws a config error if too many tokens remain for a dictionary.
    std::vector<TokenCount> merge(std::vector<TokenCounts>& last, const DictionaryOptions& options);

private:
    std::string directory_;
    std::mutex mutex_;
    std::vector<std::string> runs_;
};

}  // namespace lockstep::data
