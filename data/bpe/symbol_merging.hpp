// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/bpe/merge_table.hpp"

namespace lockstep::data {

// Merges the symbols of one piece until no two neighbours have a merge: the merge of smallest rank
// goes first, and among equals the leftmost. Appends what is left to `out`. Takes n log n steps.
class SymbolMerger {
public:
    void merge(std::span<const std::int32_t> symbols, const MergeTable& table,
               std::vector<std::int32_t>& out);

private:
    struct Link {
        std::int32_t id;
        std::int32_t previous, next;  // places in links_; -1: none
    };
    // A merge that was possible when it was noted.
    struct Candidate {
        std::uint32_t rank;
        std::int32_t place, merged;
    };

    void merge_few(std::span<const std::int32_t> symbols, const MergeTable& table,
                   std::vector<std::int32_t>& out);
    void merge_many(std::span<const std::int32_t> symbols, const MergeTable& table,
                    std::vector<std::int32_t>& out);
    void note(std::int32_t place, const MergeTable& table);
    void join(std::int32_t place, std::int32_t merged);
    static bool later(const Candidate& a, const Candidate& b) noexcept;

    std::vector<std::int32_t> few_;
    std::vector<MergeTable::Found> pairs_;
    std::vector<Link> links_;
    std::vector<Candidate> heap_;
};

}  // namespace lockstep::data
