// SPDX-License-Identifier: Apache-2.0
#include "data/storage/read_shard.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "data/storage/check_shards.hpp"
#include "data/storage/shard_store.hpp"
#include "data/storage/verify_shard.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {

namespace {

constexpr std::int64_t rows_at_a_time = 4096;
constexpr std::uint64_t tokens_at_a_time = std::uint64_t{1} << 20;

template <class T>
std::uint64_t hash_of(const std::vector<T>& values, std::uint64_t before) {
    return hash64(values.data(), values.size() * sizeof(T), before);
}

// The tokens of consecutive rows are adjacent, so they are read as one range.
std::uint64_t read_tokens(ShardStore& store, int shard, const std::vector<RowExtent>& extents,
                          std::uint64_t hash) {
    const RowExtent& last = extents.back();
    const std::uint64_t end = last.first_token + static_cast<std::uint64_t>(last.source) +
                              static_cast<std::uint64_t>(last.label);
    std::vector<std::int32_t> tokens;
    for (std::uint64_t first = extents.front().first_token; first < end; first += tokens.size()) {
        tokens.resize(std::min(tokens_at_a_time, end - first));
        store.read_tokens(shard, first, std::span(tokens));
        hash = hash_of(tokens, hash);
    }
    return hash;
}

std::uint64_t read_references(ShardStore& store, const std::vector<RowExtent>& extents,
                              std::uint64_t hash) {
    for (const RowExtent& extent : extents) {
        for (const std::string& text : store.read_references(extent)) hash = hash64(text, hash);
    }
    return hash;
}

}  // namespace

ShardReading read_shard(const Dataset& dataset, const SplitInfo& split, std::size_t shard,
                        Clock::time_point deadline) {
    check_shard(dataset, split, shard);  // needed for a shard without rows
    ShardStore store(dataset, split);
    const int number = static_cast<int>(shard);
    ShardReading reading;
    reading.rows = static_cast<std::int64_t>(split.shards.at(shard).rows);
    std::vector<RowExtent> extents;
    while (reading.rows_read < reading.rows) {
        extents.clear();
        const std::int64_t count = std::min(rows_at_a_time, reading.rows - reading.rows_read);
        store.append_extents(number, reading.rows_read, count, extents);
        reading.hash = read_tokens(store, number, extents, reading.hash);
        reading.hash = read_references(store, extents, reading.hash);
        reading.rows_read += count;
        if (Clock::now() >= deadline) break;
    }
    if (reading.rows_read == reading.rows) verify_shard(dataset, split.shards.at(shard), deadline);
    return reading;
}

}  // namespace lockstep::data
