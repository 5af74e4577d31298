// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/training.hpp"

#include <filesystem>
#include <functional>
#include <iostream>
#include <utility>

#include "data/storage/check_shards.hpp"
#include "data/tokenizers/dataset_tokenizer.hpp"
#include "launcher/command_line/output_file.hpp"
#include "launcher/evaluate/evaluator.hpp"
#include "launcher/evaluate/set_evaluators.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/model_folder/newest_checkpoint.hpp"
#include "launcher/options/memory_options.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/given_secret.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/text/exit_code.hpp"
#include "launcher/text/log_file.hpp"
#include "launcher/text/terminal.hpp"
#include "launcher/train/continuing_command.hpp"
#include "launcher/train/log_folder.hpp"
#include "launcher/train/tracker_process.hpp"
#include "launcher/train/training_session.hpp"
#include "launcher/train/training_start.hpp"
#include "launcher/watch/rank_wait.hpp"
#include "launcher/watch/stop_signal.hpp"
#include "launcher/watch/watched_run.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/files/path_status.hpp"

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

// The files that the run is to write must be nobody's, and each must be another one.
void require_outputs(const RunConfig& config, const DataSets& test) {
    require_other_file("--trace", config.trace_file, config.model_file);
    require_other_file("--log-file", config.log_file, config.model_file);
    require_other_file("--world-logs", config.world_logs, config.model_file);
    require_output_file("--trace", config.trace_file, "displayTimeUnit");
    require_logs(test, config.world_logs);
    require_different_files("--trace", config.trace_file, "--world-logs", config.world_logs);
    require_different_files("--log-file", config.log_file, "--trace", config.trace_file);
    require_different_files("--log-file", config.log_file, "--world-logs", config.world_logs);
    if (!config.world_logs.empty() && test.sets.empty())
        throw Error(ErrorKind::config,
                    "--world-logs writes the rows of the test split, and the data has none; leave "
                    "it out, or prepare the data with --test");
}

using ModelOf = std::function<model::ModelConfig(const data::Dataset&)>;

TrainingPlan check_data(const RunConfig& config, LaunchMode mode, const ModelOf& model_of) {
    DataSets sets = open_data_sets("data", config.data);
    const data::MissingShards missing = missing_shards(rank_info_of(config, mode));
    // Any rank may need any shard of several sets.
    check_shards(sets, "train", sets.several() ? data::MissingShards::refuse : missing);
    const model::ModelConfig model = model_of(sets.first());
    if (config.recompute) model::require_layers(*config.recompute, model);
    const int ranks = rank_info_of(config, mode).size;
    check_tensor_ranks(config, model, ranks);
    check_pipeline_ranks(config, model, ranks);
    check_zero_ranks(config.train.zero, ranks / train::ranks_of_place(config.train));
    DataSets validation = validation_sets(config, sets);
    check_shards(validation, "valid", missing);
    require_metric(config, validation);
    require_references(config, validation);
    const DataSets test = sets_with(final_sets(sets, validation), data::format::test_split);
    check_shards(test, data::format::test_split, missing);
    (void)data::tokenizer_of(sets.first());  // throws when it or dataset.json was changed
    require_outputs(config, test);
    std::vector<double> weights = weights_of(config, sets);
    return {std::move(sets), std::move(weights), std::move(validation),
            model,           std::nullopt,       nullptr};
}

// Before all ranks have come there is no step to be finished.
void answer_signals(StopSignal& stop, const RunConfig& launch, const comm::RankInfo& rank_info) {
    if (rank_info.rank == 0)
        stop.tell([folder = launch.model_file] { return last_checkpoint_text(folder); });
}

RunConfig while_waiting(RunConfig launch, RankWait& wait) {
    launch.comm.while_waiting = [&wait](const auto& missing) { wait.look(missing); };
    return launch;
}

// Ends a run that rank 0 does not start. The user sees the reason at once; the other ranks would
// otherwise wait for rank 0 until their time is over.
int refuse_all(const TrainingCommand& command, const RunConfig& launch,
               const comm::RankInfo& rank_info, StopSignal& stop, const Error& error) {
    std::cerr << command.program + ": " + error.what() + "\n" << std::flush;
    const int code = exit_code(error);
    try {
        RankWait wait(stop, rank_info);
        share_refusal(*connect(while_waiting(launch, wait), rank_info), code);
    } catch (const Error&) {
        // The other ranks did not come.
    }
    return code;
}

// A rank that is stopped, too, may have ended by then, and this one's wait with it.
Job join_unless_stopped(RankWait& wait, const RunConfig& launch, const comm::RankInfo& rank_info,
                        const SharedConfig& shared) {
    try {
        return join_job(while_waiting(launch, wait), rank_info, shared);
    } catch (const StoppedWait&) {
        throw;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::config && wait.goes_on()) wait.require_no_signal();
        throw;
    }
}

int train_together(const TrainingCommand& command, const RunConfig& launch, LaunchMode mode,
                   const comm::RankInfo& rank_info, StartUp start_up, StopSignal& stop, Log& log,
                   std::optional<TrainingStart> start) {
    RankWait wait(stop, rank_info);
    Job job = join_unless_stopped(
        wait, launch, rank_info, [&](comm::Communicator& all) -> const RunConfig& {
            wait.end();
            answer_signals(stop, launch, rank_info);
            start_up.ended("join");
            verify_together(command, launch, mode, {rank_info, all}, start, log);
            start = share_start(command, mode, rank_info, all, std::move(start));
            start_up.ended("checkpoint");
            return start->config;
        });
    const RunConfig& config = start->config;
    job.start_up = std::move(start_up);
    const std::string continuing = continuing_command(command.program, command.ranks, config);
    for (const std::string& note : job.notes) log.info(note);
    return run_watched(config, config.model_file,
                       {job.rank_info, *job.communicator, &stop.requested()}, log,
                       [&](comm::RankProgress* progress) {
                           job.start_up.ended("watch");
                           TrainingSession session(config, start->plan, job, log, progress);
                           TrackerProcess trackers(config, job.rank_info.rank);
                           session.run(stop.requested(), continuing);
                           trackers.finish();
                       });
}

}  // namespace

TrainingPlan check_training(const RunConfig& config, LaunchMode mode) {
    TrainingPlan plan = check_data(config, mode, [&](const data::Dataset& first) {
        const ModelSource source = source_of(config.model_file, config.init_model);
        return with_adapters(agree_on_model(source, config.model, config.given, first), source,
                             config.lora, config.given);
    });
    require_writable(config.model_file);
    return plan;
}

TrainingPlan check_training(const RunConfig& config, LaunchMode mode, const SharedModel& model) {
    TrainingPlan plan = check_data(config, mode, [&](const data::Dataset& first) {
        if (first.dictionary_hash() != model.dictionary_hash)
            throw Error(ErrorKind::config, "--data " + first.directory() +
                                               ": has another dictionary than rank 0's data; give "
                                               "all ranks the same data");
        return model.config;
    });
    if (content_of(plan.data) != model.content)
        throw Error(ErrorKind::config, "--data " + plan.data.first().directory() +
                                           ": has other rows than rank 0's data; give all ranks "
                                           "the same data");
    return plan;
}

namespace {

int train_as_rank(const TrainingCommand& command, const RunConfig& launch, LaunchMode mode,
                  const comm::RankInfo& rank_info, StartUp start_up, StopSignal& stop) {
    Log log(std::cout, verbosity_of(launch), rank_info.rank, rank_name(rank_info), output_kind());
    if (rank_info.size == 1) answer_signals(stop, launch, rank_info);
    std::optional<TrainingStart> start;
    std::optional<OutputClaim> trace, world_logs;
    try {
        if (rank_info.rank == 0) {
            start = read_start(command, launch, mode, stop.requested(), log);
            trace.emplace("--trace", launch.trace_file);
            world_logs.emplace("--world-logs", launch.world_logs);
        }
    } catch (const Error& error) {
        if (rank_info.size == 1) throw;
        return refuse_all(command, launch, rank_info, stop, error);
    }
    start_up.ended("data");
    try {
        return train_together(command, launch, mode, rank_info, std::move(start_up), stop, log,
                              std::move(start));
    } catch (const StoppedWait& stopped) {
        if (*stopped.what() != '\0') warn_on_standard_error(stopped.what());
        return stopped.code();
    } catch (const RefusedByRank0& refused) {
        constexpr int wrong_request = 2, peer_failed = 3;
        return refused.code() == wrong_request ? wrong_request : peer_failed;
    }
}

}  // namespace

int run_training(const TrainingCommand& command, LaunchMode mode) {
    const auto launch = parse_launch(command.usage, command.args, command.ranks);
    if (!launch) return 0;
    StartUp start_up;
    StopSignal stop;  // before any other thread exists
    const comm::RankInfo rank_info = rank_info_of(*launch, mode);
    require_secret(*launch, rank_info);
    start_up.ended("place");
    make_folder_of_log(*launch, rank_info.rank);
    LogFile log_file(launch->log_file, rank_info.rank);
    return log_file.keep(command.program, [&] {
        return train_as_rank(command, *launch, mode, rank_info, std::move(start_up), stop);
    });
}

}  // namespace lockstep::launcher
