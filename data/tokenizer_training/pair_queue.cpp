// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_training/pair_queue.hpp"

#include <utility>

namespace lockstep::data {

void PairQueue::change(SymbolPair pair, std::int64_t count, std::uint32_t word) {
    counts_[pair.key()] += count;
    if (count < 0) return;
    Words& words = changed_[pair.key()];
    if (words.empty() || words.back() != word) words.push_back(word);
}

void PairQueue::queue_changes() {
    for (auto& [key, words] : changed_) {
        const std::int64_t count = counts_[key];
        if (count <= 0) continue;
        entries_.push({count, key, static_cast<std::uint32_t>(words_.size())});
        words_.push_back(std::move(words));
    }
    changed_.clear();
}

// A count falls while other pairs are joined. What has fallen goes back to its new place.
bool PairQueue::pop(Top& top) {
    while (!entries_.empty()) {
        Entry entry = entries_.top();
        entries_.pop();
        const std::int64_t count = counts_[entry.key];
        if (entry.count != count) {
            entry.count = count;
            if (count > 0) entries_.push(entry);
            continue;
        }
        top = {SymbolPair::of(entry.key), count, std::move(words_[entry.words])};
        return true;
    }
    return false;
}

}  // namespace lockstep::data
