// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/storage/dataset.hpp"
#include "launcher/command_line/option_table.hpp"
#include "launcher/options/run_config.hpp"
#include "model/config.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

// Maps option names to values, in the form of the command line.
using OptionValues = std::map<std::string, std::string>;

// Returns the options of a training run that belong to its model: the paths of its data, how text
// is truncated and joined, how evaluation makes batches, the precision, how the model replies. A
// model's config.json keeps them as "defaults"; a list has one value per line, and
// paths are escaped (see data::escape_bytes).
OptionValues model_defaults(const RunConfig& config, std::span<const data::Dataset> datasets);

// Returns what a run writes into its model folder's config.json: shape, defaults and dictionary.
train::ModelDescription describe(const model::ModelConfig& model, const RunConfig& config,
                                 std::span<const data::Dataset> datasets);

// Returns the defaults in a model's folder. There are none when the folder holds no model or the
// model has no defaults. Throws a config error when they are not a JSON object of texts.
OptionValues stored_defaults(const std::string& folder);

// Sets those options of `tables` that have a default, unless `given` has the option or one that
// replaces it. A default that its option does not accept, or that training does not write, is a
// config error that names `folder`.
void apply_defaults(const OptionValues& defaults, const std::string& folder,
                    const std::vector<OptionTable>& tables, const std::set<std::string>& given);

// Throws a config error that names `folder` if `problem` is about an option, as "--beam-size: ...",
// that has its value from the defaults. Otherwise it returns.
void refuse_default(const std::string& problem, const OptionValues& defaults,
                    const std::string& folder, const std::vector<OptionTable>& tables,
                    const std::set<std::string>& given);

}  // namespace lockstep::launcher
