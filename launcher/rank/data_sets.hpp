// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/storage/check_shards.hpp"
#include "data/storage/dataset.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Data sets that are used together: of one dictionary and one kind, so that the first answers for
// all of them where those count.
struct DataSets {
    std::vector<data::Dataset> sets;
    std::vector<std::string> names;  // in metrics: the folders' own, made unique

    const data::Dataset& first() const { return sets.front(); }
    bool several() const noexcept { return sets.size() > 1; }
};

// The folders' last names; one that occurs again gets _2, _3 and so on.
std::vector<std::string> names_of_sets(const std::vector<std::string>& folders);

// Throws a config error where a folder cannot be opened, is given twice, or has another dictionary
// or kind than the first, naming both.
DataSets open_data_sets(const std::string& option, const std::vector<std::string>& folders);

// How much of each epoch the training sets have, in their order; alike where nothing was asked for.
std::vector<double> weights_of(const RunConfig& config, const DataSets& sets);

// The sets of --eval-data, else of --data; none where nobody asks for validations and no set has
// the split. Throws a config error where one of several lacks it.
DataSets validation_sets(const RunConfig& config, const DataSets& training);

void check_shards(const DataSets& sets, const std::string& split, data::MissingShards missing);

// Each set's share of an epoch's rows, for the user: "chat 33 %, facts 67 %".
std::string shares_text(const DataSets& sets, const std::vector<double>& weights);

// Tells what a run must continue with: its data sets, their rows and weights. It is empty for one
// set.
std::string mixture_text(const DataSets& sets, const std::vector<double>& weights);

}  // namespace lockstep::launcher
