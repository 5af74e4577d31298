// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizers/string_index.hpp"

namespace lockstep::data {

enum class LetterCase { keep, lower };

struct DictionaryOptions {
    LetterCase letter_case = LetterCase::keep;
    std::int64_t min_freq = 0;     // rarer tokens are left out
    std::int64_t max_tokens = -1;  // maximum size, including specials; negative: no limit
};

using TokenCount = std::pair<std::string, std::uint64_t>;

// Represents ParlAI's dictionary: tokens with their counts are ordered by falling count, then by
// code points. The specials __null__, __start__, __end__, __unk__ have ids 0 to 3 and counts above
// a billion.
class Dictionary {
public:
    // Makes a dictionary from counts in any order. Specials among them are dropped.
    Dictionary(std::vector<TokenCount> counts, const DictionaryOptions& options);
    // Reads ParlAI's file as ParlAI does: "token\tcount" per line, with \n \t \r escaped. Throws an
    // error that names file and line.
    static Dictionary load(const std::string& path, LetterCase letter_case);
    void save(const std::string& path) const;

    // Returns the token's id, or that of __unk__ if the dictionary does not have it.
    std::int32_t find(std::string_view token) const noexcept {
        const std::int32_t id = index_.find(token);
        return id < 0 ? unk : id;
    }
    std::string_view token(std::int32_t id) const { return index_.text(id); }
    std::uint64_t count(std::int32_t id) const { return counts_.at(static_cast<std::size_t>(id)); }
    std::int32_t size() const noexcept { return index_.size(); }
    // Returns the tokens of ParlAI's --special-tok-lst, in its order. Their counts ascend from
    // 1000000004. The tokenizer finds them in texts as they are, before it splits words.
    std::span<const std::int32_t> special_tokens() const noexcept { return special_tokens_; }
    LetterCase letter_case() const noexcept { return letter_case_; }
    std::uint64_t hash() const noexcept { return hash_; }

    static constexpr std::int32_t unk = 3;

private:
    explicit Dictionary(LetterCase letter_case) : letter_case_(letter_case) {}
    void add_specials();
    void find_special_tokens();
    void finish();

    LetterCase letter_case_;
    StringIndex index_;
    std::vector<std::uint64_t> counts_;
    std::vector<std::int32_t> special_tokens_;
    std::uint64_t hash_ = 0;
};

}  // namespace lockstep::data
