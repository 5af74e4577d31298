// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/storage/row_store.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::tests {

// Returns token `i` of a row, so that a batch can be checked without the store.
inline std::int32_t token_of(std::uint32_t row, std::int64_t i) {
    return static_cast<std::int32_t>((row * 131 + static_cast<std::uint64_t>(i) * 7) % 1000) + 4;
}

// Holds shards in memory. The row numbers continue through all shards.
class MemoryRows final : public data::RowStore {
public:
    using Shard = std::vector<std::pair<int, int>>;  // source and label tokens of each row

    explicit MemoryRows(const std::vector<Shard>& shards) {
        std::uint32_t row = 0;
        for (const Shard& shard : shards) {
            auto& extents = extents_.emplace_back();
            auto& tokens = tokens_.emplace_back();
            for (const auto& [source, label] : shard) {
                extents.push_back({row, static_cast<std::int32_t>(extents_.size() - 1),
                                   tokens.size(), source, label,
                                   static_cast<std::uint32_t>(extents.size()), 0});
                for (int i = 0; i < source + label; ++i) tokens.push_back(token_of(row, i));
                ++row;
            }
        }
    }

    void append_extents(int shard, std::int64_t first, std::int64_t count,
                        std::vector<data::RowExtent>& out) override {
        const auto& extents = extents_.at(static_cast<std::size_t>(shard));
        for (std::int64_t i = first; i < first + count; ++i)
            out.push_back(extents.at(static_cast<std::size_t>(i)));
        extents_read += count;
    }
    void read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) override {
        if (fail_after_reads-- == 0) throw Error(ErrorKind::data, "planted damage");
        const auto& tokens = tokens_.at(static_cast<std::size_t>(shard));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = tokens.at(first + i);
        tokens_read += static_cast<std::int64_t>(out.size());
    }
    std::vector<std::string> read_references(const data::RowExtent& extent) override {
        return {"row " + std::to_string(extent.row)};
    }

    std::int64_t extents_read = 0, tokens_read = 0;
    std::int64_t fail_after_reads = -1;  // negative: never

private:
    std::vector<std::vector<data::RowExtent>> extents_;
    std::vector<std::vector<std::int32_t>> tokens_;
};

// Returns random lengths, many short and some long, as in dialogues.
inline MemoryRows::Shard random_shard(std::uint64_t key, int rows, int longest) {
    PhiloxStream random(key);
    const auto length = [&] {
        const double u = random.uniform();
        return static_cast<int>(u * u * longest);
    };
    MemoryRows::Shard shard;
    for (int i = 0; i < rows; ++i) {
        const int source = length();
        shard.emplace_back(source, 1 + length());
    }
    return shard;
}

inline std::vector<std::int64_t> rows_of(const std::vector<MemoryRows::Shard>& shards) {
    std::vector<std::int64_t> rows;
    for (const auto& shard : shards) rows.push_back(static_cast<std::int64_t>(shard.size()));
    return rows;
}

}  // namespace lockstep::tests
