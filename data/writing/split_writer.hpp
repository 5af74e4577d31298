// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/storage/dataset_info.hpp"
#include "data/writing/shard_writer.hpp"

namespace lockstep::data {

// Deals the rows of a split to its shards by blocks, in the order of add(), and writes their
// lengths to the index.
class SplitWriter {
public:
    SplitWriter(const std::string& directory, Hdf5Output& index,
                const SplitDescription& description);

    // Without spans, all tokens of the target have labels.
    void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target,
             std::span<const std::string_view> references = {},
             std::span<const LabelSpan> spans = {});
    void count(const TextTokens& tokens) noexcept { info_.texts.add(tokens); }
    SplitInfo close();

    std::uint64_t rows() const noexcept { return info_.rows; }
    const std::string& name() const noexcept { return info_.name; }

private:
    SplitInfo info_;
    std::deque<ShardWriter> shards_;
    std::vector<Hdf5Column> lengths_;  // [rows, 2] for each shard
};

}  // namespace lockstep::data
