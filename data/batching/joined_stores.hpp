// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "data/storage/row_store.hpp"

namespace lockstep::data {

// Presents the rows of several splits as one split: the numbers of shards and rows continue from
// one split to the next.
class JoinedStores final : public RowStore {
public:
    struct Part {
        std::unique_ptr<RowStore> store;
        std::int32_t shards = 0;
        std::uint32_t rows = 0;
    };
    explicit JoinedStores(std::vector<Part> parts);

    void append_extents(int shard, std::int64_t first, std::int64_t count,
                        std::vector<RowExtent>& out) override;
    void read_spans(const RowExtent& extent, std::vector<LabelSpan>& out) override;
    void read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) override;
    std::vector<std::string> read_references(const RowExtent& extent) override;

private:
    struct PartOfShard {
        RowStore& store;
        std::int32_t first_shard;
        std::uint32_t first_row;
    };
    PartOfShard part_of(std::int32_t shard);
    static RowExtent within(const PartOfShard& part, RowExtent extent) noexcept;

    std::vector<Part> parts_;
};

// Returns the store itself if there is only one part.
std::unique_ptr<RowStore> joined(std::vector<JoinedStores::Part> parts);

}  // namespace lockstep::data
