// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/storage/label_span.hpp"

namespace lockstep::data {

// Locates a row of a split and its tokens. The label's tokens follow the source's.
struct RowExtent {
    std::uint32_t row = 0;  // id within the split
    std::int32_t shard = 0;
    std::uint64_t first_token = 0;
    std::int32_t source = 0, label = 0;  // number of tokens
    std::uint32_t local = 0;             // number within the shard
    std::uint32_t pass = 0;              // pass over its data set, counted from the epoch's first
    // How many tokens between the label's first and last have no label themselves: the label is the
    // answers of a conversation with what was said between them.
    std::int32_t unlabelled = 0;

    bool has_gaps() const noexcept { return unlabelled > 0; }
};

// Reads the rows of a split's shards. Use it from one thread at a time.
class RowStore {
public:
    virtual ~RowStore() = default;

    // Appends the extents of `count` rows of a shard, from its row `first` on.
    virtual void append_extents(int shard, std::int64_t first, std::int64_t count,
                                std::vector<RowExtent>& out) = 0;
    // Appends the spans of a row that has gaps, in order; other rows have one, which is their
    // label.
    virtual void read_spans(const RowExtent&, std::vector<LabelSpan>&) {}
    virtual void read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) = 0;
    // Returns every alternative label of the row as written. Empty if the split stores none.
    virtual std::vector<std::string> read_references(const RowExtent& extent) = 0;
};

}  // namespace lockstep::data
