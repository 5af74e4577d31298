// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/option_table.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// doctor, plan: a training run that is only checked or reckoned, so that nothing of it need be
// given. ladder: several short ones. display: an evaluation that is looked at.
enum class Task {
    train,
    evaluate,
    display,
    generate,
    interactive,
    self_chat,
    doctor,
    plan,
    ladder
};

// Whether a task's program answers texts with a model that is there.
bool talks(Task task) noexcept;

// How many ranks a program is. any: of plan, doctor and ladder, which take the options of every
// training program.
enum class Ranks { one, started_here, of_job, any };

// Whether the options say how long a row may be, which a budget of --batchsize longest rows needs.
bool tells_longest_row(const RunConfig& config) noexcept;

// The tables of a task's options, bound to `config`.
std::vector<OptionTable> run_tables(Task task, RunConfig& config);

// Fills `config` from the words behind the program's name and checks what does not need the data.
// Empty where --help or --dump-config was answered and the program is done.
std::optional<RunConfig> parse_run(Task task, const std::string& usage,
                                   const std::vector<std::string>& args, Ranks ranks = Ranks::any);

// Every option of the task with its value in `config`, given or by default.
std::map<std::string, std::string> option_values(Task task, RunConfig config);

}  // namespace lockstep::launcher
