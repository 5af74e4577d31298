// SPDX-License-Identifier: Apache-2.0
#include "data/bpe/symbol_merging.hpp"

#include <algorithm>

namespace lockstep::data {
namespace {

// Up to here looking at all pairs each time is faster than a heap.
constexpr std::size_t few = 48;
constexpr std::int32_t none = -1, joined = -2;

}  // namespace

void SymbolMerger::merge(std::span<const std::int32_t> symbols, const MergeTable& table,
                         std::vector<std::int32_t>& out) {
    if (symbols.size() < 2) {
        out.insert(out.end(), symbols.begin(), symbols.end());
        return;
    }
    if (symbols.size() <= few) return merge_few(symbols, table, out);
    merge_many(symbols, table, out);
}

void SymbolMerger::merge_few(std::span<const std::int32_t> symbols, const MergeTable& table,
                             std::vector<std::int32_t>& out) {
    few_.assign(symbols.begin(), symbols.end());
    pairs_.resize(few_.size() - 1);
    for (std::size_t i = 0; i < pairs_.size(); ++i) pairs_[i] = table.find(few_[i], few_[i + 1]);
    while (!pairs_.empty()) {
        const auto best =
            std::min_element(pairs_.begin(), pairs_.end(),
                             [](const auto& a, const auto& b) noexcept { return a.rank < b.rank; });
        if (best->merged < 0) break;
        const auto at = static_cast<std::size_t>(best - pairs_.begin());
        few_[at] = best->merged;
        few_.erase(few_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        pairs_.erase(best);
        if (at > 0) pairs_[at - 1] = table.find(few_[at - 1], few_[at]);
        if (at < pairs_.size()) pairs_[at] = table.find(few_[at], few_[at + 1]);
    }
    out.insert(out.end(), few_.begin(), few_.end());
}

bool SymbolMerger::later(const Candidate& a, const Candidate& b) noexcept {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
}

void SymbolMerger::note(std::int32_t place, const MergeTable& table) {
    const Link& left = links_[static_cast<std::size_t>(place)];
    if (left.next == none) return;
    const auto found = table.find(left.id, links_[static_cast<std::size_t>(left.next)].id);
    if (found.merged < 0) return;
    heap_.push_back({found.rank, place, found.merged});
    std::push_heap(heap_.begin(), heap_.end(), later);
}

void SymbolMerger::join(std::int32_t place, std::int32_t merged) {
    Link& left = links_[static_cast<std::size_t>(place)];
    Link& right = links_[static_cast<std::size_t>(left.next)];
    left.id = merged;
    left.next = right.next;
    right.id = joined;
    if (left.next != none) links_[static_cast<std::size_t>(left.next)].previous = place;
}

void SymbolMerger::merge_many(std::span<const std::int32_t> symbols, const MergeTable& table,
                              std::vector<std::int32_t>& out) {
    const auto count = static_cast<std::int32_t>(symbols.size());
    links_.clear();
    heap_.clear();
    for (std::int32_t i = 0; i < count; ++i)
        links_.push_back(
            {symbols[static_cast<std::size_t>(i)], i - 1, i + 1 == count ? none : i + 1});
    for (std::int32_t i = 0; i < count; ++i) note(i, table);
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Candidate best = heap_.back();
        heap_.pop_back();
        const Link& left = links_[static_cast<std::size_t>(best.place)];
        if (left.id == joined || left.next == none) continue;
        // One of the two may have been merged since with something else.
        const auto now = table.find(left.id, links_[static_cast<std::size_t>(left.next)].id);
        if (now.merged != best.merged) continue;
        join(best.place, best.merged);
        if (left.previous != none) note(left.previous, table);
        note(best.place, table);
    }
    for (std::int32_t i = 0; i != none; i = links_[static_cast<std::size_t>(i)].next)
        out.push_back(links_[static_cast<std::size_t>(i)].id);
}

}  // namespace lockstep::data
