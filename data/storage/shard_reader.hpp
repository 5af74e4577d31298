// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_column.hpp"
#include "data/hdf5/hdf5_section.hpp"
#include "data/storage/row_store.hpp"
#include "data/storage/shard_format.hpp"

namespace lockstep::data {

// Describes a shard as dataset.json does. A shard must be so to belong to the data set.
struct ShardIdentity {
    std::string dictionary_hash;
    DatasetKind kind = DatasetKind::dialogue;
    std::string split;
    std::int32_t shard = 0, shards = 1;
    std::int64_t rows = 0;
    std::uint64_t bytes = 0;      // of the file
    std::int32_t vocabulary = 0;  // every token is less than this
    int version = format_version;
};

// Reads one shard file. Every error names the file and the remedy. A row is what prepare wrote, or
// reading it throws a data error: chunks have checksums, chunks that are missing are noticed, and
// row ids and tokens are compared with what they can be.
class ShardReader {
public:
    ShardReader(std::string path, const ShardIdentity& expected);
    ~ShardReader();
    ShardReader(const ShardReader&) = delete;
    ShardReader& operator=(const ShardReader&) = delete;

    void append_extents(std::int64_t first, std::int64_t count, std::vector<RowExtent>& out);
    void read_tokens(std::uint64_t first, std::span<std::int32_t> out);
    // Appends the spans of a row; none if the shard's rows have no spans of their own.
    void read_spans(const RowExtent& extent, std::vector<LabelSpan>& out);
    // Returns nothing if the shard holds no references.
    std::vector<std::string> read_references(std::int64_t row);

private:
    void open(const Hdf5Section& section);
    void close() noexcept;
    void check_identity() const;
    void check_size() const;
    void open_columns();
    void open_spans();
    void add_spans(std::uint64_t first, std::span<const RowExtent> extents,
                   std::vector<LabelSpan>& out, std::vector<std::int32_t>& labelled);
    [[noreturn]] void damaged_row(std::uint64_t row, const std::string& part) const;
    // Returns the row that has the token number `token`.
    std::uint64_t row_of(std::uint64_t token, const Hdf5Section& section) const;
    template <class T>
    void read(const hdf5::Column& column, const char* name, std::uint64_t first, std::span<T> out,
              const Hdf5Section& section) const;

    std::string path_;
    ShardIdentity expected_;
    Hdf5File file_;
    hdf5::Column tokens_, offsets_, row_ids_;
    hdf5::Column span_offsets_, spans_;  // only in shards of version 2
    // Only evaluation shards have these.
    hdf5::Column reference_rows_, reference_offsets_, reference_text_;
};

}  // namespace lockstep::data
