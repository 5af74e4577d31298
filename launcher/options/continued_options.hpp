// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/command_line/option_table.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/options/stored_options.hpp"

namespace lockstep::launcher {

// Tells whether the option of the tables has Trait::launch.
bool of_launch(const std::string& name, const std::vector<OptionTable>& tables);

// Sets the options of `tables`, bound to `config`, that neither the user nor an option that
// replaces them gave, to the values that the run in the checkpoint was started with. Options of the
// launch (device, ranks, threads, output) are left alone. Adds the words to config.lines. Throws a
// config error for an option that must not change, with both values.
void take_stored_options(const StoredOptions& stored, const std::vector<OptionTable>& tables,
                         RunConfig& config);

// Returns the given options that differ from the stored ones, and the stored ones that a given one
// has replaced: "--max-train-steps 400 instead of no limit, without --num-epochs 2".
// `values` are the options of now (option_values()). The help of an option says what -1 means.
std::string changed_options(const StoredOptions& stored, const RunConfig& config,
                            const std::vector<OptionTable>& tables,
                            const std::map<std::string, std::string>& values);

// Tells of what kind these options are; config.changes names them.
ChangedOptions changed_kind(const StoredOptions& stored, const RunConfig& config,
                            const std::vector<OptionTable>& tables,
                            const std::map<std::string, std::string>& values);

// Tells what the run no longer counts because `values` differ from the stored ones.
CountedAnew counted_anew(const StoredOptions& stored, const RunConfig& config,
                         const std::vector<OptionTable>& tables,
                         const std::map<std::string, std::string>& values);

}  // namespace lockstep::launcher
