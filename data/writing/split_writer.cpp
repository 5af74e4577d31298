// SPDX-License-Identifier: Apache-2.0
#include "data/writing/split_writer.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {
namespace {

constexpr hsize_t index_rows_per_chunk = 1 << 12;

}  // namespace

SplitWriter::SplitWriter(const std::string& directory, Hdf5Output& index,
                         const SplitDescription& description) {
    info_.name = description.split;
    if (description.labels == Labels::in_spans) info_.label_tokens = 0;
    for (int shard = 0; shard < description.shards; ++shard) {
        shards_.emplace_back(directory, description, shard);
        lengths_.emplace_back(index, index_dataset(description.split, shard), H5T_STD_I32LE,
                              sizeof(std::int32_t), info_.label_tokens ? 3 : 2,
                              index_rows_per_chunk);
    }
}

void SplitWriter::add(std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                      std::span<const std::string_view> references,
                      std::span<const LabelSpan> spans) {
    if (info_.rows > std::numeric_limits<std::uint32_t>::max())
        throw Error(ErrorKind::config,
                    info_.name + ": more than 2^32 rows; prepare the text in several data sets");
    const std::size_t shard = info_.rows / rows_per_block % shards_.size();
    const auto before = static_cast<std::int32_t>(source.size());
    const auto length = static_cast<std::int32_t>(target.size());
    const LabelSpan whole{before, before + length};
    if (spans.empty()) spans = {&whole, 1};
    shards_[shard].add({.id = static_cast<std::uint32_t>(info_.rows),
                        .source = source,
                        .target = target,
                        .spans = spans,
                        .references = references});
    std::int32_t labels = 0;
    for (const LabelSpan& span : spans) labels += span.end - span.begin;
    const std::array<std::int32_t, 3> lengths = {before, length, labels};
    lengths_[shard].append(
        std::span<const std::int32_t>(lengths).first(info_.label_tokens ? 3 : 2));
    ++info_.rows;
    info_.source_tokens += source.size();
    info_.target_tokens += target.size();
    if (info_.label_tokens) *info_.label_tokens += static_cast<std::uint64_t>(labels);
    info_.longest_source = std::max<std::int64_t>(info_.longest_source, before);
    info_.longest_target = std::max<std::int64_t>(info_.longest_target, length);
}

SplitInfo SplitWriter::close() {
    for (Hdf5Column& lengths : lengths_) lengths.close();
    for (ShardWriter& shard : shards_) {
        shard.close();
        const std::filesystem::path path = shard.path();
        info_.shards.push_back({.file = path.filename(),
                                .bytes = std::filesystem::file_size(path),
                                .rows = shard.rows(),
                                .tokens = shard.tokens(),
                                .xxh3 = hex(hash_file(path))});
    }
    return info_;
}

}  // namespace lockstep::data
