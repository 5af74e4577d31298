// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/storage/dataset.hpp"
#include "launcher/options/option_table.hpp"
#include "launcher/options/run_config.hpp"
#include "model/config.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

// Options with their values, as the command line takes them.
using OptionValues = std::map<std::string, std::string>;

// The options of a training run that go with its model: where its data lies, how text is cut and
// joined, how batches are made in evaluation, in which precision it computes, how it replies.
// A model's config.json keeps them as "defaults", a list with one value a line.
OptionValues model_defaults(const RunConfig& config, std::span<const data::Dataset> datasets);

// Returns what a run's model folder says of the model: its shape, defaults and dictionary.
train::ModelDescription describe(const model::ModelConfig& model, const RunConfig& config,
                                 std::span<const data::Dataset> datasets);

// The defaults of a model's folder; none where there is no model or where it has none. Throws a
// config error where they are not a JSON object of texts.
OptionValues stored_defaults(const std::string& folder);

// Sets those options of `tables` that have a default and that nothing in `given` replaces.
// `folder` is named by the config error for a default that its option does not take.
void apply_defaults(const OptionValues& defaults, const std::string& folder,
                    const std::vector<OptionTable>& tables, const std::set<std::string>& given);

}  // namespace lockstep::launcher
