// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/storage/dataset_info.hpp"

namespace lockstep::data {

// Represents a folder that `lockstep prepare` wrote, as its dataset.json describes it. The loaders
// open the shards, so a shard may be missing if no lane of this machine reads it.
class Dataset {
public:
    // Throws config or data errors that name the folder, the option that gave it, and the remedy.
    static Dataset open(const std::string& directory, const std::string& option = "data");

    const std::string& directory() const noexcept { return directory_; }
    const DatasetInfo& info() const noexcept { return info_; }
    DatasetKind kind() const noexcept { return info_.kind; }
    // Returns the hash that identifies the dictionary. Every shard of this data set and every model
    // trained on it has the same hash.
    const std::string& dictionary_hash() const noexcept { return info_.dictionary_hash; }
    std::int64_t vocabulary() const noexcept { return info_.vocabulary; }
    const SpecialTokens& special() const noexcept { return info_.special; }
    bool has_split(std::string_view name) const noexcept;
    // Throws a config error that names the existing splits.
    const SplitInfo& split(std::string_view name) const;
    std::string shard_path(const ShardInfo& shard) const;

private:
    Dataset(std::string directory, DatasetInfo info);

    std::string directory_;
    DatasetInfo info_;
};

}  // namespace lockstep::data
