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

// How often each token was seen.
class TokenCounts {
public:
    void add(std::string_view token, std::uint64_t count = 1) {
        const auto id = static_cast<std::size_t>(index_.add(token));
        if (id == counts_.size()) counts_.push_back(0);
        counts_[id] += count;
    }
    // The tokens of a text as the `re` tokenizer sees them.
    void add_text(std::string_view text, LetterCase letter_case);

    std::size_t bytes() const noexcept { return index_.bytes() + counts_.capacity() * 8; }
    std::vector<TokenCount> take();  // by token; leaves nothing

private:
    StringIndex index_;
    std::vector<std::uint64_t> counts_;
};

// Counts of any number of tokens in bounded memory: sorted runs in files, merged at the end. Safe
// from several threads.
class CountRuns {
public:
    // Run files go to `directory` and are removed when merged.
    explicit CountRuns(std::string directory) : directory_(std::move(directory)) {}

    void write(TokenCounts& counts);
    // Everything written and `last`, added up; tokens that the options leave out anyway may be left
    // out already. Throws a config error when what remains is too much for a dictionary.
    std::vector<TokenCount> merge(std::vector<TokenCounts>& last, const DictionaryOptions& options);

private:
    std::string directory_;
    std::mutex mutex_;
    std::vector<std::string> runs_;
};

}  // namespace lockstep::data
