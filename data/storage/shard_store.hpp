// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/storage/dataset.hpp"
#include "data/storage/row_store.hpp"
#include "data/storage/shard_reader.hpp"

namespace lockstep::data {

// Reads the shards of a split. Each is opened when it is first read.
class ShardStore final : public RowStore {
public:
    ShardStore(const Dataset& dataset, const SplitInfo& split);

    void append_extents(int shard, std::int64_t first, std::int64_t count,
                        std::vector<RowExtent>& out) override;
    void read_spans(const RowExtent& extent, std::vector<LabelSpan>& out) override;
    void read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) override;
    std::vector<std::string> read_references(const RowExtent& extent) override;

private:
    struct Shard {
        std::string path;
        ShardIdentity identity;
        std::unique_ptr<ShardReader> reader;
    };

    ShardReader& reader(int shard);

    std::vector<Shard> shards_;
};

// Returns the attributes that a shard must have to be this one of the split.
ShardIdentity shard_identity(const Dataset& dataset, const SplitInfo& split, std::size_t number);

// Returns the number of rows of each shard of a split.
std::vector<std::int64_t> shard_rows(const SplitInfo& split);

}  // namespace lockstep::data
