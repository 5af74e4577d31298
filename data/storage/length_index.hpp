// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/hdf5/hdf5_column.hpp"
#include "data/hdf5/hdf5_section.hpp"
#include "data/storage/dataset.hpp"
#include "data/storage/row_store.hpp"

namespace lockstep::data {

// Gives the rows of a split with their lengths, from the data set's index, without tokens. It is
// used for planning, also on hosts without the shards. Use it from one thread at a time.
class LengthIndex final : public RowStore {
public:
    // Throws an error that names the index file if it is missing, damaged or belongs to another
    // data set.
    LengthIndex(const Dataset& dataset, const SplitInfo& split);
    ~LengthIndex() override;
    LengthIndex(const LengthIndex&) = delete;
    LengthIndex& operator=(const LengthIndex&) = delete;

    void append_extents(int shard, std::int64_t first, std::int64_t count,
                        std::vector<RowExtent>& out) override;
    // Throws: the index has no tokens.
    void read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) override;
    std::vector<std::string> read_references(const RowExtent& extent) override;

private:
    void open(const Dataset& dataset, const SplitInfo& split, const Hdf5Section& section);
    void close() noexcept;
    [[noreturn]] void damaged(const std::string& what) const;

    std::string path_;
    std::uint64_t width_ = 2;  // numbers of a row
    Hdf5File file_;
    std::vector<hdf5::Column> lengths_;  // for each shard
};

}  // namespace lockstep::data
