// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "data/storage/shard_format.hpp"
#include "launcher/ladder/table.hpp"
#include "launcher/ladder/table_json.hpp"
#include "launcher/ladder/trial_run.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/train/training.hpp"
#include "model/blocks/layout.hpp"
#include "model/config_json.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/core/error.hpp"
#include "runtime/train/loop/epoch_share.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* usage =
    "lockstep ladder --data DIR [options of train]\n"
    "Measures each speed-up of training on this data and machine, one above the other, and tells\n"
    "the command of the fastest. With -mf DIR the runs are kept there.\n";

// Refuses options that a rung decides itself or that set the length of a rung.
void refuse_rungs_options(const RunConfig& config) {
    for (const char* name :
         {"skip-generation", "eval-dynamic-batching", "batch-tokens", "validation-every-n-epochs",
          "validation-every-n-steps", "validation-every-n-secs", "max-train-steps",
          "log-every-n-steps", "log-every-n-secs", "trace", "log-file"}) {
        if (config.given.contains(name))
            throw Error(ErrorKind::config,
                        std::string("--") + name + ": the ladder decides this; leave it out");
    }
}

std::int64_t rows_of(const DataSets& sets, const char* split) {
    std::int64_t rows = 0;
    for (const data::Dataset& set : sets.sets)
        rows += static_cast<std::int64_t>(set.split(split).rows);
    return rows;
}

ladder::Subject subject_of(const RunConfig& config, const TrainingPlan& plan,
                           const ladder::Host& host) {
    ladder::Subject subject;
    subject.model = model::name(plan.model.kind);
    subject.parameters = static_cast<std::int64_t>(model::parameter_table(plan.model).count());
    subject.host = host;
    subject.epochs = config.train.limits.num_epochs;
    subject.seconds = config.train.limits.max_train_time_s;
    subject.rows = rows_of(plan.data, data::format::train_split);
    return subject;
}

ladder::Work work_of(const RunConfig& config, const TrainingPlan& plan) {
    ladder::Work work;
    work.train_rows = static_cast<double>(train::EpochShare(config.train.limits.num_epochs)
                                              .rows(rows_of(plan.data, data::format::train_split)));
    work.valid_rows = rows_of(plan.validation, data::format::valid_split);
    return work;
}

// Returns the options that set the length of a rung.
std::vector<std::string> length_of(const RunConfig& config, const ladder::Work& work) {
    const std::string epochs = number_word(config.train.limits.num_epochs);
    std::vector<std::string> words{
        "--num-epochs",        epochs,
        "--max-train-time",    number_word(config.train.limits.max_train_time_s),
        "--log-every-n-steps", "1"};
    if (work.valid_rows > 0)
        words.insert(words.end(), {"--validation-every-n-epochs", epochs, "--validation-max-exs",
                                   std::to_string(config.train.validation.max_examples),
                                   "--short-final-eval", "true"});
    return words;
}

std::vector<std::string> together(std::vector<std::string> words,
                                  const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace

int ladder_program(const std::vector<std::string>& args) {
    using namespace ladder;
    require_one_process("ladder", args, comm::process_environment());
    auto config = parse_run(Task::ladder, usage, args);
    if (!config) return 0;
    refuse_rungs_options(*config);
    const Host host = host_of(*config);
    const RunFolders folders(config->model_file);
    config->model_file = folders.path();
    const TrainingPlan plan = check_training(*config, LaunchMode::alone);
    const Work work = work_of(*config, plan);
    const std::vector<Rung> rungs =
        ladder::rungs(*config, host, work.valid_rows > 0 ? Validation::of_split : Validation::none);
    const Subject subject = subject_of(*config, plan, host);
    if (!config->json) std::cout << heading(subject, rungs) << std::flush;
    const std::vector<std::string> length = length_of(*config, work);
    const Measure measure = [&](const Settings& settings, const std::string& name) {
        const std::string folder = folders.of(name);
        const auto command = together(command_of(settings, *config), length);
        Attempt attempt = run_trial(together(command, {"--model-file", folder}), folder);
        folders.measured(name);
        return attempt;
    };
    const auto told = [&](const Outcome& outcome) {
        if (!config->json) std::cout << line(outcome, work, rungs) << std::flush;
    };
    Settings start;
    start.batchsize = config->batch.batchsize;
    const Climb climb = ladder::climb(rungs, start, work, measure, told);
    if (climb.signal != 0) return 128 + climb.signal;
    const auto fastest =
        together(command_of(climb.fastest, *config),
                 {"--num-epochs", number_word(config->train.limits.num_epochs), "-mf", "MODEL"});
    std::cout << (config->json ? table_json(subject, climb, work, fastest)
                               : closing(climb, work, fastest))
              << std::flush;
    return 0;
}

}  // namespace lockstep::launcher
