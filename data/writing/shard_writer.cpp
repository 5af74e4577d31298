// SPDX-License-Identifier: Apache-2.0
#include "data/writing/shard_writer.hpp"

#include <array>

namespace lockstep::data {
namespace {

// A chunk has 256 KiB of tokens: reading a window needs few seeks, and reading a block of rows
// wastes little.
constexpr hsize_t tokens_per_chunk = 1 << 16;
constexpr hsize_t rows_per_chunk = 1 << 12;
constexpr hsize_t text_bytes_per_chunk = 1 << 16;

Hdf5Column uint64_column(Hdf5Output& file, const char* name) {
    return {file, name, H5T_STD_U64LE, sizeof(std::uint64_t), 1, rows_per_chunk};
}

}  // namespace

ShardWriter::ReferenceColumns::ReferenceColumns(Hdf5Output& file)
    : rows(uint64_column(file, format::reference_rows)),
      offsets(uint64_column(file, format::reference_offsets)),
      text(file, format::reference_text, H5T_STD_U8LE, 1, 1, text_bytes_per_chunk) {
    rows.append(std::uint64_t{0});
    offsets.append(std::uint64_t{0});
}

void ShardWriter::ReferenceColumns::add(std::span<const std::string_view> texts) {
    for (const std::string_view t : texts) {
        text.append(std::span<const char>(t.data(), t.size()));
        offsets.append(bytes += t.size());
    }
    rows.append(alternatives += texts.size());
}

void ShardWriter::ReferenceColumns::close() {
    rows.close();
    offsets.close();
    text.close();
}

ShardWriter::SpanColumns::SpanColumns(Hdf5Output& file)
    : offsets(uint64_column(file, format::span_offsets)),
      spans(file, format::spans, H5T_STD_I32LE, sizeof(std::int32_t), 2, rows_per_chunk) {
    offsets.append(std::uint64_t{0});
}

void ShardWriter::SpanColumns::add(std::span<const LabelSpan> added) {
    for (const LabelSpan& span : added) {
        const std::array<std::int32_t, 2> both = {span.begin, span.end};
        spans.append(std::span<const std::int32_t>(both));
    }
    offsets.append(count += added.size());
}

void ShardWriter::SpanColumns::close() {
    offsets.close();
    spans.close();
}

ShardWriter::ShardWriter(const std::string& directory, const SplitDescription& description,
                         int shard)
    : file_(directory + "/" + shard_file(description.split, shard, description.shards)),
      token_column_(file_, format::tokens, H5T_STD_I32LE, sizeof(std::int32_t), 1,
                    tokens_per_chunk),
      offset_column_(uint64_column(file_, format::offsets)),
      id_column_(file_, format::row_ids, H5T_STD_U32LE, sizeof(std::uint32_t), 1, rows_per_chunk) {
    offset_column_.append(std::uint64_t{0});
    const bool in_spans = description.labels == Labels::in_spans;
    if (in_spans) spans_.emplace(file_);
    if (description.references == References::kept) references_.emplace(file_);
    file_.attribute(format::version, in_spans ? spans_version : format_version);
    file_.attribute(format::kind, name(description.kind));
    file_.attribute(format::tokenizer, description.tokenizer);
    file_.attribute(format::dictionary_hash, description.dictionary_hash);
    file_.attribute(format::split, description.split);
    file_.attribute(format::shard, shard);
    file_.attribute(format::shards, description.shards);
}

void ShardWriter::add(const ShardRow& row) {
    token_column_.append(row.source);
    token_column_.append(row.target);
    offset_column_.append(tokens_ += row.source.size());
    offset_column_.append(tokens_ += row.target.size());
    id_column_.append(row.id);
    if (spans_) spans_->add(row.spans);
    if (references_) references_->add(row.references);
    ++rows_;
}

void ShardWriter::close() {
    token_column_.close();
    offset_column_.close();
    id_column_.close();
    if (spans_) spans_->close();
    if (references_) references_->close();
    file_.attribute(format::rows, static_cast<std::int64_t>(rows_));
    file_.attribute(format::token_count, static_cast<std::int64_t>(tokens_));
    file_.close();
}

}  // namespace lockstep::data
