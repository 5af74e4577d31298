// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/options/option_table.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// doctor, plan: a training run that is only checked or reckoned, so that nothing of it need be
// given. ladder: several short ones.
enum class Task { train, evaluate, generate, doctor, plan, ladder };

// The tables of a task's options, bound to `config`.
std::vector<OptionTable> run_tables(Task task, RunConfig& config);

// Fills `config` from the words behind the program's name and checks what does not need the data.
// Empty where --help or --dump-config was answered and the program is done.
std::optional<RunConfig> parse_run(Task task, const std::string& usage,
                                   const std::vector<std::string>& args);

}  // namespace lockstep::launcher
