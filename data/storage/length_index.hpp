// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/storage/dataset.hpp"
#include "data/storage/hdf5_section.hpp"
#include "data/storage/row_store.hpp"

namespace lockstep::data {

// The rows of a split as the data set's index tells of them: how long each is, and no tokens. For
// plans, also where the shards are not. Used by one thread at a time.
class LengthIndex final : public RowStore {
public:
    // Throws an error that names the file where it is missing, damaged or another data set's.
    LengthIndex(const Dataset& dataset, const SplitInfo& split);
    ~LengthIndex() override;
    LengthIndex(const LengthIndex&) = delete;
    LengthIndex& operator=(const LengthIndex&) = delete;

    void append_places(int shard, std::int64_t first, std::int64_t count,
                       std::vector<RowExtent>& out) override;
    // There are none; throws.
    void read_tokens(int shard, std::uint64_t first, std::span<std::int32_t> out) override;
    std::vector<std::string> read_references(const RowExtent& place) override;

private:
    void open(const Dataset& dataset, const SplitInfo& split, const Hdf5Section& section);
    void close() noexcept;
    [[noreturn]] void damaged(const std::string& what, const Hdf5Section& section) const;

    std::string path_;
    Hdf5File file_;
    std::vector<Hdf5Dataset> lengths_;  // of each shard
};

}  // namespace lockstep::data
