// SPDX-License-Identifier: Apache-2.0
#include "data/storage/shard_store.hpp"

namespace lockstep::data {

ShardIdentity shard_identity(const Dataset& dataset, const SplitInfo& split, std::size_t number) {
    return {dataset.dictionary_hash(),
            dataset.kind(),
            split.name,
            static_cast<std::int32_t>(number),
            static_cast<std::int32_t>(split.shards.size()),
            static_cast<std::int64_t>(split.shards[number].rows),
            split.shards[number].bytes,
            dataset.info().vocabulary,
            split.version()};
}

ShardStore::ShardStore(const Dataset& dataset, const SplitInfo& split) {
    for (std::size_t i = 0; i < split.shards.size(); ++i)
        shards_.push_back(
            {dataset.shard_path(split.shards[i]), shard_identity(dataset, split, i), nullptr});
}

ShardReader& ShardStore::reader(int number) {
    Shard& shard = shards_.at(static_cast<std::size_t>(number));
    if (!shard.reader) shard.reader = std::make_unique<ShardReader>(shard.path, shard.identity);
    return *shard.reader;
}

void ShardStore::append_extents(int shard, std::int64_t first, std::int64_t count,
                                std::vector<RowExtent>& out) {
    reader(shard).append_extents(first, count, out);
}

void ShardStore::read_spans(const RowExtent& extent, std::vector<LabelSpan>& out) {
    reader(extent.shard).read_spans(extent, out);
}

void ShardStore::read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) {
    reader(shard).read_tokens(first, out);
}

std::vector<std::string> ShardStore::read_references(const RowExtent& extent) {
    return reader(extent.shard).read_references(extent.local);
}

std::vector<std::int64_t> shard_rows(const SplitInfo& split) {
    std::vector<std::int64_t> rows;
    for (const ShardInfo& shard : split.shards)
        rows.push_back(static_cast<std::int64_t>(shard.rows));
    return rows;
}

}  // namespace lockstep::data
