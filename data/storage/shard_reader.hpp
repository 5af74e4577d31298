// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/storage/hdf5_section.hpp"
#include "data/storage/row_store.hpp"
#include "data/storage/shard_format.hpp"

namespace lockstep::data {

// A shard must have these attributes to belong to a data set.
struct ShardIdentity {
    std::string dictionary_hash;
    DatasetKind kind = DatasetKind::dialogue;
    std::string split;
    std::int32_t shard = 0, shards = 1;
    std::int64_t rows = 0;
};

// Reads one shard file. Every error names the file and the remedy.
class ShardReader {
public:
    ShardReader(std::string path, const ShardIdentity& expected);
    ~ShardReader();
    ShardReader(const ShardReader&) = delete;
    ShardReader& operator=(const ShardReader&) = delete;

    void append_extents(std::int64_t first, std::int64_t count, std::vector<RowExtent>& out);
    void read_tokens(std::uint64_t first, std::span<std::int32_t> out);
    // Returns nothing if the shard holds no references.
    std::vector<std::string> read_references(std::int64_t row);

private:
    void open(const Hdf5Section& section);
    void close() noexcept;
    void check_identity(const ShardIdentity& expected) const;
    void open_datasets(const ShardIdentity& expected, const Hdf5Section& section);
    template <class T>
    void read(const Hdf5Dataset& dataset, const char* name, std::uint64_t first, std::span<T> out,
              const Hdf5Section& section) const;

    std::string path_;
    std::int32_t shard_;
    std::uint64_t token_count_ = 0;
    Hdf5File file_;
    Hdf5Dataset tokens_, offsets_, row_ids_;
    Hdf5Dataset reference_rows_, reference_offsets_, reference_text_;  // only in evaluation shards
};

}  // namespace lockstep::data
