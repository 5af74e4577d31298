// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::data {

// Locates a row of a split and its tokens. The label's tokens follow the source's.
struct RowExtent {
    std::uint32_t row = 0;  // id within the split
    std::int32_t shard = 0;
    std::uint64_t first_token = 0;
    std::int32_t source = 0, label = 0;  // number of tokens
    std::uint32_t local = 0;             // number within the shard
    std::uint32_t pass = 0;              // pass over its data set, counted from the epoch's first
};

// Reads the rows of a split's shards. Use it from one thread at a time.
class RowStore {
public:
    virtual ~RowStore() = default;

    // Appends the extents of `count` rows of a shard, from its row `first` on.
    virtual void append_extents(int shard, std::int64_t first, std::int64_t count,
                                std::vector<RowExtent>& out) = 0;
    virtual void read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) = 0;
    // Returns every alternative label of the row as written. Empty if the split stores none.
    virtual std::vector<std::string> read_references(const RowExtent& extent) = 0;
};

}  // namespace lockstep::data
