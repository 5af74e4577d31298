// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/option_table.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// doctor and plan only check or estimate a training run, so that no option of the run is required.
// ladder makes several short training runs. display shows the examples of an evaluation.
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

// Tells whether a task's program replies to texts with an existing model.
bool talks(Task task) noexcept;

// Tells how many ranks a program starts or joins. plan, doctor and ladder take `any`: they accept
// the options of every training program.
enum class Ranks { one, started_here, of_job, any };

// Tells whether the options limit the length of a row. A token budget of --batchsize longest rows
// needs that limit.
bool tells_longest_row(const RunConfig& config) noexcept;

// Warns of restarts of a run for which train::saves_on_the_way() is false.
inline constexpr const char* restarts_lose_work =
    "warning: restarts are asked for, but this run saves no checkpoint before its end: give "
    "--save-every-n-secs or --save-every-n-steps";

// Returns the tables of a task's options, bound to `config`.
std::vector<OptionTable> run_tables(Task task, RunConfig& config);

// Fills `config` from the words after the program's name and checks everything that does not need
// the data. The result is empty when --help or --dump-config was answered and the program is done.
std::optional<RunConfig> parse_run(Task task, const std::string& usage,
                                   const std::vector<std::string>& args, Ranks ranks = Ranks::any);

// Returns every option of the task with its value in `config`, whether given or default.
std::map<std::string, std::string> option_values(Task task, RunConfig config);

}  // namespace lockstep::launcher
