// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

namespace lockstep::data {

// Two neighbouring symbols.
struct SymbolPair {
    std::int32_t left, right;

    std::uint64_t key() const noexcept {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
               static_cast<std::uint32_t>(right);
    }
    static SymbolPair of(std::uint64_t key) noexcept {
        return {static_cast<std::int32_t>(key >> 32), static_cast<std::int32_t>(key & 0xFFFFFFFFu)};
    }
};

// Counts pairs of symbols in words while these change, and finds the most frequent one. Of equally
// frequent pairs the one with the smaller ids comes first.
class PairQueue {
public:
    using Words = std::vector<std::uint32_t>;

    // Counts a pair so many times more, or fewer, in a word.
    void change(SymbolPair pair, std::int64_t count, std::uint32_t word);
    // Queues what was counted more since the last call.
    void queue_changes();

    struct Top {
        SymbolPair pair;
        std::int64_t count;
        Words words;  // that had the pair when it was queued
    };
    // Takes the most frequent pair out. Returns false if there is none. A pair that was queued
    // twice comes out twice.
    bool pop(Top& top);

private:
    struct Entry {
        std::int64_t count;  // when it was queued
        std::uint64_t key;
        std::uint32_t words;  // its place in words_
    };
    struct Later {
        bool operator()(const Entry& a, const Entry& b) const noexcept {
            return a.count != b.count ? a.count < b.count : a.key > b.key;
        }
    };

    std::unordered_map<std::uint64_t, std::int64_t> counts_;
    std::unordered_map<std::uint64_t, Words> changed_;
    std::vector<Words> words_;
    std::priority_queue<Entry, std::vector<Entry>, Later> entries_;
};

}  // namespace lockstep::data
