// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/training.hpp"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "data/storage/check_shards.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "launcher/evaluate/evaluator.hpp"
#include "launcher/evaluate/final_evaluation.hpp"
#include "launcher/evaluate/set_evaluators.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/output_file.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/text/terminal.hpp"
#include "launcher/train/training_session.hpp"
#include "launcher/watch/stop_signal.hpp"
#include "launcher/watch/watched_run.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/path_status.hpp"

namespace lockstep::launcher {

namespace {

// Data sets that are used together have the same kind, so the first one is enough.
void require_references(const RunConfig& config, const DataSets& validation) {
    if (validation.sets.empty()) return;
    const std::string& name = config.train.validation.metric;
    const std::string metric = name.substr(name.rfind('/') + 1);
    const std::string why = why_no_replies(config, validation.first(), data::format::valid_split);
    if (why.empty() || !train::needs_replies(metric)) return;
    throw Error(ErrorKind::config, "--validation-metric " + metric + ": " + why +
                                       "; give ppl, loss, token_acc or token_em");
}

// Returns the run's own folder, or the folder of the initial weights when there is no model yet.
ModelSource starts_from(const RunConfig& config) {
    if (config.init_model.empty() || holds_model(config.model_file)) return {config.model_file};
    return {model_folder_of(config.init_model), "--init-model"};
}

// A metric "NAME/ppl" selects one of several data sets.
void require_metric(const RunConfig& config, const DataSets& validation) {
    const std::string& metric = config.train.validation.metric;
    const auto end = metric.rfind('/');
    if (end == std::string::npos) return;
    std::string names;
    for (const std::string& name : validation.names) {
        if (validation.several() && metric.substr(0, end) == name) return;
        names += (names.empty() ? "" : ", ") + name;
    }
    throw Error(ErrorKind::config,
                "--validation-metric " + metric +
                    (validation.several() ? ": no such data set; the validations have " + names
                                          : ": the validations have one data set; leave "
                                            "its name out"));
}

std::unique_ptr<train::FolderLock> lock_folder(const RunConfig& config, const train::StopFlag& stop,
                                               Log& log) {
    const train::LockWaiting waiting{[&](const std::string& line) { log.error(line); },
                                     [&] { return stop.load(); }};
    return std::make_unique<train::FolderLock>(config.model_file, train::this_process(), waiting);
}

// A launcher that starts ranks again tells them so by the option or, as torchrun, by a variable.
void warn_of_lost_work(const RunConfig& config, Log& log) {
    const char* torchrun = std::getenv("TORCHELASTIC_MAX_RESTARTS");
    const bool restarts =
        config.max_restarts > 0 || (torchrun != nullptr && std::atoi(torchrun) > 0);
    if (restarts && !train::saves_on_the_way(config.train)) log.error(restarts_lose_work);
}

std::optional<std::string> usable_checkpoint(const RunConfig& config, Log& log) {
    const train::CheckpointChoice choice = train::choose_checkpoint(config.model_file);
    train::set_aside(choice, log);
    return choice.path;
}

}  // namespace

TrainingPlan check_training(const RunConfig& config, LaunchMode mode) {
    DataSets sets = open_data_sets("data", config.data);
    const auto missing =
        mode == LaunchMode::alone ? data::MissingShards::refuse : data::MissingShards::allow;
    // Any rank may need any shard of several sets.
    check_shards(sets, "train", sets.several() ? data::MissingShards::refuse : missing);
    if (!config.init_model.empty() && !path_exists(config.init_model)) {
        throw Error(ErrorKind::config, "--init-model " + config.init_model + ": does not exist");
    }
    const model::ModelConfig model =
        agree_on_model(starts_from(config), config.model, config.given, sets.first());
    DataSets validation = validation_sets(config, sets);
    check_shards(validation, "valid", missing);
    require_metric(config, validation);
    require_references(config, validation);
    const DataSets test = sets_with(final_sets(sets, validation), data::format::test_split);
    check_shards(test, data::format::test_split, missing);
    (void)data::open_tokenizer(sets.first().directory());  // throws when it was changed
    require_writable(config.model_file);
    require_output_file("--trace", config.trace_file, "displayTimeUnit");
    require_logs(test, config.world_logs);
    std::vector<double> weights = weights_of(config, sets);
    return {std::move(sets), std::move(weights), std::move(validation),
            model,           std::nullopt,       nullptr};
}

void check_checkpoints(const RunConfig& config) {
    train::require_unlocked(config.model_file);
    (void)train::choose_checkpoint(config.model_file);
}

int run_training(const RunConfig& config, LaunchMode mode) {
    StartUp start_up;
    const StopSignal stop;  // before any other thread exists
    const comm::RankInfo rank_info = rank_info_of(config, mode);
    start_up.ended("place");
    Log log(std::cout, verbosity_of(config), rank_info.rank, rank_name(rank_info), output_kind());
    TrainingPlan plan = check_training(config, mode);
    if (rank_info.rank == 0) {
        warn_of_lost_work(config, log);
        plan.lock = lock_folder(config, stop.requested(), log);
        plan.checkpoint = usable_checkpoint(config, log);
    }
    start_up.ended("data");
    Job job = join_job(config, rank_info);
    job.start_up = std::move(start_up);
    job.start_up.ended("join");
    for (const std::string& note : job.notes) log.info(note);
    return run_watched(config, config.model_file, job, log, [&](comm::RankProgress* progress) {
        job.start_up.ended("watch");
        TrainingSession session(config, plan, job, log, progress);
        session.run(stop.requested());
    });
}

}  // namespace lockstep::launcher
