// SPDX-License-Identifier: Apache-2.0
#include "data/batching/joined_stores.hpp"

#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::data {

JoinedStores::JoinedStores(std::vector<Part> parts) : parts_(std::move(parts)) {}

JoinedStores::PartOfShard JoinedStores::part_of(std::int32_t shard) {
    std::int32_t first_shard = 0;
    std::uint32_t first_row = 0;
    for (Part& part : parts_) {
        if (shard < first_shard + part.shards) return {*part.store, first_shard, first_row};
        first_shard += part.shards;
        first_row += part.rows;
    }
    throw Error(ErrorKind::contract, "no shard " + std::to_string(shard));
}

void JoinedStores::append_extents(int shard, std::int64_t first, std::int64_t count,
                                  std::vector<RowExtent>& out) {
    const PartOfShard part = part_of(shard);
    const std::size_t before = out.size();
    part.store.append_extents(shard - part.first_shard, first, count, out);
    for (std::size_t i = before; i < out.size(); ++i) {
        out[i].shard = shard;
        out[i].row += part.first_row;
    }
}

void JoinedStores::read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) {
    const PartOfShard part = part_of(shard);
    part.store.read_tokens(shard - part.first_shard, first, out);
}

RowExtent JoinedStores::within(const PartOfShard& part, RowExtent extent) noexcept {
    extent.shard -= part.first_shard;
    extent.row -= part.first_row;
    return extent;
}

void JoinedStores::read_spans(const RowExtent& extent, std::vector<LabelSpan>& out) {
    const PartOfShard part = part_of(extent.shard);
    part.store.read_spans(within(part, extent), out);
}

std::vector<std::string> JoinedStores::read_references(const RowExtent& extent) {
    const PartOfShard part = part_of(extent.shard);
    return part.store.read_references(within(part, extent));
}

std::unique_ptr<RowStore> joined(std::vector<JoinedStores::Part> parts) {
    if (parts.size() == 1) return std::move(parts.front().store);
    return std::make_unique<JoinedStores>(std::move(parts));
}

}  // namespace lockstep::data
