// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/storage/check_shards.hpp"
#include "data/storage/dataset.hpp"
#include "launcher/options/run_config.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

// Holds data sets that are used together. They have the same dictionary and kind, so the first one
// stands for all of them in these respects.
struct DataSets {
    std::vector<data::Dataset> sets;
    std::vector<std::string> names;  // names in metrics: the folders' own names, made unique

    const data::Dataset& first() const { return sets.front(); }
    bool several() const noexcept { return sets.size() > 1; }
};

// Returns the last part of each folder's path. A repeated name gets _2, _3 and so on.
std::vector<std::string> names_of_sets(const std::vector<std::string>& folders);

// Opens the folders. Throws a config error when a folder cannot be opened, is given twice, or
// differs from the first in dictionary or kind; the error names both.
DataSets open_data_sets(const std::string& option, const std::vector<std::string>& folders);

// Returns the weight of each training set in an epoch, in the order of the sets. The weights are
// equal when none were given.
std::vector<double> weights_of(const RunConfig& config, const DataSets& sets);

// Opens the sets of --eval-data, otherwise those of --data. Returns none when no validation is
// requested and no set has the split. Throws a config error when one of several sets lacks it.
DataSets validation_sets(const RunConfig& config, const DataSets& training);

// Returns the sets that a run evaluates at its end: those of the validations, or the training's
// when there are none.
const DataSets& final_sets(const DataSets& training, const DataSets& validation) noexcept;

// Returns those sets that have the split.
DataSets sets_with(const DataSets& sets, const std::string& split);

// Returns whether a shard may be missing on this host. Where all ranks run here, none has it.
data::MissingShards missing_shards(const comm::RankInfo& rank_info) noexcept;

void check_shards(const DataSets& sets, const std::string& split, data::MissingShards missing);

// Describes each set's share of an epoch's rows for the user: "chat 33 %, facts 67 %".
std::string shares_text(const DataSets& sets, const std::vector<double>& weights);

// Describes the data sets, rows and weights that a run must continue with. The text is empty when
// there is one set.
std::string mixture_text(const DataSets& sets, const std::vector<double>& weights);

// Describes a single data set by the size of its training split, so that another one is noticed.
// The text is empty when there are several.
std::string data_set_text(const DataSets& sets);

// Returns one hash of the training splits' contents, made of the hashes of their shards in order,
// as 16 hexadecimal digits. The text is empty if a data set of an older version has none.
std::string content_of(const DataSets& sets);

}  // namespace lockstep::launcher
