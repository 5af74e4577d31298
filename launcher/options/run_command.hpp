// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/command_line/option_table.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/options/stored_options.hpp"

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

// Tells whether this process looks at model folders. Other ranks do that for it if not.
enum class FolderAccess { reads, none };

// Fills `config` from the words after the program's name and checks everything that does not need
// the data. The result is empty when --help or --dump-config was answered and the program is done.
// `stored` gives a training run what its model folder says.
std::optional<RunConfig> parse_run(Task task, const std::string& usage,
                                   const std::vector<std::string>& args, Ranks ranks = Ranks::any,
                                   const StoredSource& stored = {},
                                   FolderAccess access = FolderAccess::reads);

// Does so for a training run that does not know yet what the model folder says. Only the options of
// the launch are complete: the folder, the ranks, addresses, time-out, device and output. Nothing
// else is checked.
std::optional<RunConfig> parse_launch(const std::string& usage,
                                      const std::vector<std::string>& args, Ranks ranks);

// Throws a config error for a --model-file or --init-model that is a model of ParlAI's.
void check_models(const RunConfig& config);

// Throws a config error if `eval` would refuse the defaults in a model's folder.
void check_defaults(const std::string& folder);

// Returns every option of the task with its value in `config`, whether given or default.
std::map<std::string, std::string> option_values(Task task, RunConfig config);

}  // namespace lockstep::launcher
