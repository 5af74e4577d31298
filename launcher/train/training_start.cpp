// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/training_start.hpp"

#include <array>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "launcher/command_line/option_table.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/foreign_files.hpp"
#include "launcher/model_folder/free_rates.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/model_folder/named_checkpoint.hpp"
#include "launcher/model_folder/newest_checkpoint.hpp"
#include "launcher/model_folder/recorded_model.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/options/schedule_checks.hpp"
#include "launcher/rank/frozen_base.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/rank/same_options.hpp"
#include "launcher/text/already_told.hpp"
#include "launcher/text/exit_code.hpp"
#include "launcher/train/continuation.hpp"
#include "launcher/train/stored_weights.hpp"
#include "model/blocks/layout.hpp"
#include "model/config_json.hpp"
#include "runtime/comm/texts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher {

namespace {

using Json = nlohmann::json;

// The run replaces these files in the model folder one by one.
constexpr std::array<std::string_view, 8> model_files{
    "model.safetensors", "config.json",       train::own_description_file, "report.json",
    "metrics.jsonl",     adapter_config_file, adapter_weights_file,        "ranks.json"};

std::unique_ptr<train::FolderLock> lock_folder(const RunConfig& launch, const train::StopFlag& stop,
                                               Log& log) {
    const train::LockWaiting waiting{[&](const std::string& line) { log.error(line); },
                                     [&] { return stop.load(); }};
    return std::make_unique<train::FolderLock>(launch.model_file, train::this_process(), waiting);
}

Continuation continuation_at(const std::string& checkpoint) {
    const train::RunRecord record =
        train::retry_reading([&] { return train::read_run_record(checkpoint); });
    return train::from_json_file(checkpoint + "/state.json",
                                 [&] { return continuation_of(record); });
}

RunConfig parse(const TrainingCommand& command, const std::optional<StoredOptions>& stored,
                FolderAccess access) {
    return parse_run(
               Task::train, command.usage, command.args, command.ranks, [&] { return stored; },
               access)
        .value();
}

std::string shared_text(const TrainingStart& start) {
    Json json{{"model", model::to_json(start.plan.model)},
              {"dictionary", start.plan.data.first().dictionary_hash()},
              {"content", content_of(start.plan.data)},
              {"schedule_end", start.plan.schedule_end}};
    if (start.stored) json["stored"] = *start.stored;
    return dump_json(json);
}

TrainingStart start_from_text(const std::string& text, const TrainingCommand& command,
                              LaunchMode mode) {
    const Json json = parse_json(text);
    std::optional<StoredOptions> stored;
    if (json.contains("stored")) stored = json["stored"].get<StoredOptions>();
    RunConfig config = parse(command, stored, FolderAccess::none);
    const SharedModel model{
        model::config_from_json(json.at("model").get<std::string>(), "rank 0's model"),
        json.at("dictionary").get<std::string>(), json.at("content").get<std::string>()};
    TrainingPlan plan =
        check_patiently(config, [&] { return check_training(config, mode, model); });
    json.at("schedule_end").get_to(plan.schedule_end);
    return {std::move(config), std::move(plan), std::move(stored)};
}

// A launcher that starts ranks again tells them so by the option or, as torchrun, by a variable.
void warn_of_lost_work(const RunConfig& config, Log& log) {
    const char* torchrun = std::getenv("TORCHELASTIC_MAX_RESTARTS");
    const bool restarts =
        config.max_restarts > 0 || (torchrun != nullptr && std::atoi(torchrun) > 0);
    if (restarts && !train::saves_on_the_way(config.train)) log.error(restarts_lose_work);
}

// In TRL this option cuts rows.
void warn_of_reply_length(const RunConfig& config, Log& log) {
    const auto given = [&](const char* option) { return config.given.contains(option); };
    if (!given("max-length") || given("truncate") || given("text-truncate") ||
        given("label-truncate"))
        return;
    log.error(
        "warning: --max-length limits the replies that the model generates, and cuts no row; "
        "rows are cut by --truncate N");
}

void require_no_refusal(comm::Communicator& communicator, const Json& from_rank_0) {
    if (!from_rank_0.contains("refused")) return;
    communicator.leave_together();
    throw RefusedByRank0(from_rank_0["refused"].get<int>());
}

// Tells rank 0's reason, then the other ranks, which are in broadcast_text(), that it does not
// start.
[[noreturn]] void refuse_others(const std::string& teller, comm::Communicator& communicator,
                                const Error& error) {
    warn_on_standard_error(teller + ": " + error.what());
    try {
        share_refusal(communicator, exit_code(error));
    } catch (const Error&) {
        // The other ranks have ended.
    }
    throw AlreadyTold(error);
}

// Every rank learns whether all can start, so that none waits for one that cannot.
void agree(comm::Communicator& communicator, const std::exception_ptr& error) {
    std::vector<std::uint64_t> able{error ? 0U : 1U};
    communicator.all_reduce(view_of(able), comm::ReduceOp::min, "start");
    communicator.finish();
    if (able.front() == 1) return;
    communicator.leave_together();
    if (error) std::rethrow_exception(error);
    throw Error(ErrorKind::peer, "another rank cannot start; its own message says why");
}

// Checks the config.json that belongs to the weights with which the run begins.
void require_recorded(const std::optional<std::string>& checkpoint, const RunConfig& config) {
    const bool own = checkpoint || config.init_model.empty();
    const std::string folder = own ? config.model_file : model_folder_of(config.init_model);
    const std::string from = checkpoint.value_or(own ? config.model_file : config.init_model);
    const std::string weights = is_folder(from) ? from + "/" + train::weights_file : from;
    if (!folder.empty() && path_exists(weights)) require_recorded_model(folder, weights);
}

// Dropout is an option of the run, so a continued run has that of its checkpoint unless the command
// line changes it. config.json is written with the best weights only, and may have an older value.
void take_recorded_rates(const std::string& checkpoint, const RunConfig& config,
                         model::ModelConfig& model, Log& log) {
    const auto recorded = recorded_model(checkpoint + "/" + train::weights_file);
    if (!recorded) return;
    for (const FreeRate& rate : free_rates) {
        float& value = model.*rate.value;
        const float then = (*recorded).*rate.value;
        if (value == then || config.given.contains(rate.option)) continue;
        log.info(printable(train::description_path(config.model_file)) + ": has --" + rate.option +
                 " " + number_word(value) + ", but the run goes on with " + number_word(then) +
                 " as its checkpoint says; give the option to change it");
        value = then;
    }
}

// A checkpoint keeps the seed and the lanes.
plan::CountedRun counted(const RunConfig& config, const TrainingPlan& plan,
                         const std::optional<Continuation>& continued, LaunchMode mode) {
    plan::CountedRun run{config, plan.model, plan.data, plan.weights};
    const std::int64_t shards = config.batch.logical_shards;
    if (continued) {
        run.seed = continued->trainer.seed;
        run.lanes = continued->trainer.lanes;
    } else {
        run.seed = config.train.seed;
        run.lanes = shards > 0 ? shards
                               : rank_info_of(config, mode).size /
                                     train::ranks_of_place(config.train) * config.batch.update_freq;
    }
    return run;
}

// Makes the start from a checkpoint, or without one, from all that is known without its tensors.
TrainingStart start_from(const std::optional<std::string>& checkpoint,
                         const TrainingCommand& command, const std::string& model_file,
                         LaunchMode mode, Log& log) {
    std::optional<StoredOptions> stored;
    if (checkpoint)
        stored = train::retry_reading([&] { return stored_options(model_file, *checkpoint); });
    RunConfig config = parse(command, stored, FolderAccess::reads);
    require_recorded(checkpoint, config);
    RunConfig read = config;
    if (checkpoint) read.init_model.clear();  // it is not needed, so it may be gone
    TrainingPlan plan = check_patiently(read, [&] { return check_training(read, mode); });
    std::optional<Continuation> continued;
    if (checkpoint) {
        continued = continuation_at(*checkpoint);
        require_continuable(*continued, config, plan.data, plan.weights);
        take_recorded_rates(*checkpoint, config, plan.model, log);
    } else {
        check_lanes(config, rank_info_of(config, mode).size / train::ranks_of_place(config.train));
    }
    plan.checkpoint = checkpoint;
    plan.schedule_end =
        schedule_end(counted(config, plan, continued, mode), continued ? &*continued : nullptr);
    check_schedule(config, plan.schedule_end.updates);
    return {std::move(config), std::move(plan), std::move(stored)};
}

// Adapters are of no use without the weights that they are added to.
void take_base(TrainingStart& start) {
    model::ModelConfig& model = start.plan.model;
    if (model.lora.rank > 0) model.lora.base_hash = hash_of_base(model);
}

// Reads the weights of --init-model before the ranks build their models: a launcher does not start
// again a program that refuses a damaged file here.
void require_first_weights(const TrainingStart& start) {
    if (start.plan.checkpoint) return;
    const Warn silent = [](const std::string&) {};  // the session warns when it loads the weights
    const std::string path = first_weights(start.config, start.plan.model, silent);
    if (path.empty()) return;
    const train::ParameterTable table = model::parameter_table(start.plan.model);
    const bool adapters = !start.config.lora.adapter.empty();
    if (adapters)
        train::check_shapes(path, table,
                            "these adapters are of another base; give --init-model theirs");
    try {
        train::check_weights(path, table);
    } catch (const SystemFailure&) {
        throw;
    } catch (const Error& error) {
        throw Error(error.kind(),
                    (adapters ? "--lora " : "--init-model ") + std::string(error.what()));
    }
}

}  // namespace

TrainingStart read_start(const TrainingCommand& command, const RunConfig& launch, LaunchMode mode,
                         const train::StopFlag& stop, Log& log) {
    RunConfig read = launch;
    if (!newest_checkpoint_name(launch.model_file).empty()) read.init_model.clear();
    check_models(read);
    require_no_checkpoint(launch.model_file);
    require_writable(launch.model_file);
    require_own_folder(launch.model_file, command.args);
    require_regular_files(launch.model_file);
    followed_path(train::checkpoints_of(launch.model_file));  // a run removes what it finds there
    auto lock = lock_folder(launch, stop, log);
    const auto choice = train::choose_checkpoint(launch.model_file, train::Verify::sizes);
    TrainingStart start = start_from(choice.path, command, launch.model_file, mode, log);
    warn_of_lost_work(start.config, log);
    warn_of_reply_length(start.config, log);
    start.plan.lock = std::move(lock);
    return start;
}

void verify_start(TrainingStart& start, const TrainingCommand& command, LaunchMode mode, Log& log) {
    const std::string model_file = start.config.model_file;
    const train::CheckpointChoice choice = train::choose_checkpoint(model_file);
    if (choice.path != start.plan.checkpoint) {
        auto lock = std::move(start.plan.lock);
        start = start_from(choice.path, command, model_file, mode, log);
        start.plan.lock = std::move(lock);
    }
    require_first_weights(start);
    take_base(start);
    train::set_aside(choice, log);
    train::remove_leftovers(model_file, model_files);
}

void verify_together(const TrainingCommand& command, const RunConfig& launch, LaunchMode mode,
                     const WatchedRank& self, std::optional<TrainingStart>& own, Log& log) {
    if (self.rank_info.size == 1) return verify_start(own.value(), command, mode, log);
    const bool continues = own && own->plan.checkpoint;
    // Nobody waits long where there is nothing to read.
    try {
        if (own && !continues) verify_start(*own, command, mode, log);
    } catch (const Error& error) {
        refuse_others(command.program, self.communicator, error);
    }
    const std::string text = broadcast_text(
        self.communicator, continues ? dump_json(Json{{"continues", *own->plan.checkpoint}}) : "");
    if (text.empty()) return;
    require_no_refusal(self.communicator, parse_json(text));
    std::exception_ptr refusal;
    const int code = run_watched(launch, launch.model_file, self, log, [&](comm::RankProgress*) {
        try {
            if (own) verify_start(*own, command, mode, log);
        } catch (const Error&) {
            refusal = std::current_exception();
        }
        self.communicator.barrier("start");
        self.communicator.finish();
    });
    self.communicator.set_timeout(launch.comm.timeout_ms);
    if (code != 0) throw RefusedByRank0(code);
    try {
        if (refusal) std::rethrow_exception(refusal);
    } catch (const Error& error) {
        refuse_others(command.program, self.communicator, error);
    }
}

TrainingStart share_start(const TrainingCommand& command, LaunchMode mode,
                          const comm::RankInfo& rank_info, comm::Communicator& communicator,
                          std::optional<TrainingStart> own) {
    if (rank_info.size == 1) return std::move(own).value();
    const std::string text = broadcast_text(communicator, own ? shared_text(*own) : "");
    std::exception_ptr error;
    if (!own) {
        const Json json = parse_json(text);
        require_no_refusal(communicator, json);
        try {
            own = start_from_text(text, command, mode);
        } catch (const Error& reason) {
            // mpirun may kill this rank as soon as another one has ended.
            warn_on_standard_error(command.program + ": " + reason.what());
            error = std::make_exception_ptr(AlreadyTold(reason));
        } catch (const std::exception&) {
            error = std::current_exception();
        }
    }
    agree(communicator, error);
    // An option may be given on one rank only and repeat the default, where the checkpoint has
    // another value.
    require_same_options(communicator, rank_info, own->config.compared);
    return std::move(own).value();
}

void share_refusal(comm::Communicator& communicator, int code) {
    (void)broadcast_text(communicator, dump_json(Json{{"refused", code}}));
    communicator.leave_together();
}

void check_on_rank_0(comm::Communicator& communicator, const comm::RankInfo& self,
                     const std::function<void()>& check) {
    try {
        if (self.rank == 0) check();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::config || self.size == 1) throw;
        refuse_others(rank_name(self), communicator, error);
    }
    require_no_refusal(communicator, parse_json(broadcast_text(communicator, "{}")));
}

}  // namespace lockstep::launcher
