// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/training_session.hpp"

#include <nlohmann/json.hpp>

#include "data/text/escaped_bytes.hpp"
#include "launcher/evaluate/evaluator.hpp"
#include "launcher/evaluate/final_evaluation.hpp"
#include "launcher/evaluate/set_evaluators.hpp"
#include "launcher/memory/gpu_memory_check.hpp"
#include "launcher/memory/recompute_choice.hpp"
#include "launcher/memory/run_memory.hpp"
#include "launcher/model_folder/checkpoint_size.hpp"
#include "launcher/model_folder/earlier_files.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/options/model_defaults.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/options/schedule_checks.hpp"
#include "launcher/options/tables.hpp"
#include "launcher/plan/dry_traffic.hpp"
#include "launcher/rank/data_place.hpp"
#include "launcher/rank/frozen_base.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/train/announcement.hpp"
#include "launcher/train/cores_observer.hpp"
#include "launcher/train/finished_run.hpp"
#include "launcher/train/kept_folder.hpp"
#include "launcher/train/metrics_first.hpp"
#include "launcher/train/run_saves.hpp"
#include "launcher/train/run_versions.hpp"
#include "launcher/train/state_file.hpp"
#include "launcher/train/stored_weights.hpp"
#include "launcher/train/training_start.hpp"
#include "model/config_json.hpp"
#include "model/devices/dry_model.hpp"
#include "runtime/comm/texts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/optim/state_bytes.hpp"

namespace lockstep::launcher {

namespace {

bool drops(const model::ModelConfig& model) {
    return model.dropout > 0 || model.attention_dropout > 0 || model.relu_dropout > 0;
}

}  // namespace

TrainingSession::TrainingSession(const RunConfig& config, const TrainingPlan& plan, Job& job,
                                 Log& log, comm::RankProgress* progress)
    : config_(config),
      plan_(plan),
      job_(job),
      log_(log),
      progress_(progress),
      options_(config.train),
      place_(data_place_of(config, job.rank_info)),
      trace_(config.trace_file.empty() ? Trace::Recording::off : Trace::Recording::on,
             job.rank_info.rank),
      recompute_(recompute_of(config, plan.model, job, log)),
      activations_bytes_(activations_to_reserve(config, plan.model, recompute_, job, log)),
      model_(make_model(plan.model, job.device, recompute_,
                        share_with_file(config, plan.model, job, log))),
      engine_(model_->make_engine(options_, *job.communicator, trace_, progress)) {
    options_.lanes = config.batch.logical_shards > 0 ? config.batch.logical_shards
                                                     : place_.ranks * config.batch.update_freq;
    options_.schedule = schedule_of(config, plan.schedule_end.updates);
    model_->reserve(static_cast<std::size_t>(activations_bytes_));
    load_base(plan_.model, *model_, *job_.communicator);
    start_weights();
    open_data();
    open_validation();
    check_on_rank_0(*job_.communicator, job_.rank_info, [this] { prepare_folder(); });
    job_.start_up.ended("model");
}

void TrainingSession::prepare_folder() const {
    const train::ParameterTable& table = engine_->parameters();
    require_room(
        config_.model_file,
        bytes_of_checkpoints(table.flat_size(), train::state_bytes(options_.optimizer, table),
                             options_.keep));
    if (!holds_model(config_.model_file))
        create_model_folder(config_.model_file, description_of(config_, plan_, job_),
                            plan_.data.first());
}

// Ranks that share a replica load what each of them owns. Otherwise only rank 0 needs weights and
// optimizer state here, because the trainer broadcasts them.
void TrainingSession::start_weights() {
    const auto record = load_state(plan_.checkpoint, *engine_, *job_.communicator);
    const std::string record_json =
        broadcast_text(*job_.communicator, record ? tell_record(*record) : "");
    if (record_json.empty()) return start_first_weights();
    continue_from(parse_json(record_json).get<Continuation>());
}

std::string TrainingSession::tell_record(const train::RunRecord& record) const {
    if (!record.conversion.empty()) log_.info(record.conversion);
    train::TrainOptions options = options_;
    options.lanes = record.trainer.lanes;
    train::Metadata versions = versions_of(job_, options);
    if (options.reducer.lane_order == train::LaneOrder::fixed) versions.erase("ranks");
    if (!drops(plan_.model)) versions.erase(dropout_masks);
    const std::string changed = differences(record.versions, versions);
    if (!changed.empty()) log_.info("continuing, but not bit for bit: changed since: " + changed);
    return dump_json(nlohmann::json(continuation_of(record)));
}

void TrainingSession::start_first_weights() {
    const bool is_first = job_.rank_info.rank == 0;
    load_first_weights(is_first ? tell_first_weights() : "", {plan_.model, options_.seed}, *model_,
                       *engine_, *job_.communicator);
    const std::string kept = is_first ? keep_earlier_files(config_.model_file) : "";
    if (!kept.empty())
        log_.info(printable(config_.model_file) + ": what this run would replace is kept: " + kept);
}

std::string TrainingSession::tell_first_weights() const {
    const std::string& from = config_.init_model;
    if (!from.empty()) tell_default_rate(config_, log_);
    if (plan_.model.lora.rank > 0 && !from.empty())
        return first_adapters(config_, plan_.model, log_);
    if (!from.empty()) {
        std::string weights = holds_model(from) ? weights_of(from) : from;
        log_.info(first_weights_text(from, weights));
        return weights;
    }
    if (path_exists(config_.model_file + "/model.safetensors")) {
        // The user copied a model here, or its checkpoints are gone.
        log_.info(printable(config_.model_file) + ": has no checkpoint; starting from its weights");
        return config_.model_file;
    }
    if (holds_model(config_.model_file))
        log_.info(printable(config_.model_file) + ": has no checkpoint yet; starting at step 0");
    return "";
}

void TrainingSession::continue_from(const Continuation& shared) {
    require_continuable(shared, config_, plan_.data, plan_.weights);
    resume_ = shared.trainer;
    dealt_ = shared.dealing;
    parts_ = shared.parts;
    options_.seed = resume_->seed;
    options_.lanes = resume_->lanes;
    log_.info("continuing after step " + std::to_string(resume_->step) + " from " +
              printable(plan_.checkpoint.value_or(config_.model_file)));
    const DataChange change = data_change(shared, plan_.data, plan_.weights);
    if (const std::string changes = changes_of(config_.changes, change); !changes.empty())
        parts_.push_back({resume_->step, changes});
    if (change.is_other) {
        dealt_.reset();
        log_.info("epoch " + std::to_string(resume_->position.epoch + 1) + " begins with " +
                  change.text());
    }
    tell_unread(config_, log_);
    CountedAnew anew = config_.counted_anew;
    if (change.is_other) anew.validations = true;
    has_best_ = resume_->validation.best.has_value();
    const std::string told = count_anew(anew, *resume_);
    if (!config_.changes.empty())
        log_.info("continued with " + config_.changes + (told.empty() ? "" : "; " + told));
}

DealingRecord TrainingSession::dealing() const {
    DealingRecord record;
    record.now.batching = train_batching(config_, plan_.model, plan_.data.first());
    record.now.window_batches = loader_->window_batches();
    record.block_rows = loader_->block_rows();
    if (resume_ && dealt_)
        record.earlier = dealt_before(*dealt_, resume_->position, record.now.batching);
    return record;
}

void TrainingSession::open_data() {
    data::StepLoaderOptions options;
    options.batching = train_batching(config_, plan_.model, plan_.data.first());
    options.weights = plan_.weights;
    options.seed = options_.seed;
    options.lanes = options_.lanes;
    options.rank = place_.rank;
    options.world = place_.ranks;
    if (options_.reducer.lane_order == train::LaneOrder::fixed)
        options.sharing = train::LaneSharing::whole;
    options.num_workers = static_cast<int>(config_.batch.num_workers);
    if (resume_ && dealt_) {
        options.block_rows = dealt_->block_rows;
        options.earlier = dealt_before(*dealt_, resume_->position, options.batching);
        if (dealt_->now.batching == options.batching)
            options.window_batches = dealt_->now.window_batches;
    }
    loader_ = data::open_step_source(plan_.data.sets, options);
    source_ = std::make_unique<CheckedSource>(*loader_, plan_.data.names, *job_.communicator, log_,
                                              place_.counts);
    // Checkpoints of earlier versions count the rows of the whole run only.
    if (resume_ && resume_->position.rows_in_epoch < 0)
        resume_->position.rows_in_epoch =
            resume_->position.step_in_epoch == 0
                ? 0
                : resume_->rows - resume_->position.epoch * loader_->rows_per_epoch();
}

void TrainingSession::open_validation() {
    tokenizer_ = data::open_tokenizer(plan_.data.first().directory());
    if (plan_.validation.sets.empty()) return;
    const std::string why =
        why_no_replies(config_, plan_.validation.first(), data::format::valid_split);
    if (!why.empty()) log_.info(why);
    EvaluatedRows rows;
    rows.max_examples = options_.validation.max_examples;
    evaluator_ = open_evaluators(evaluator_parts(), plan_.validation, rows);
}

EvaluatorParts TrainingSession::evaluator_parts() {
    const bool by_lanes = options_.reducer.lane_order == train::LaneOrder::fixed;
    return {config_,
            plan_.model,
            *model_,
            *tokenizer_,
            *job_.communicator,
            by_lanes ? options_.lanes : 0,
            [this] {
                if (progress_ != nullptr) progress_->move_on();
            },
            {},
            options_.tensor,
            options_.pipeline};
}

train::RunRecord TrainingSession::new_record() const {
    train::RunRecord record;
    nlohmann::json options{
        {"config", data::escape_bytes(config_.lines)},
        {"values", escaped(option_values(Task::train, with_model(config_, plan_.model)))}};
    if (plan_.data.several())
        options["data"] = data::escape_bytes(mixture_text(plan_.data, plan_.weights));
    else
        options["data_set"] = data_set_text(plan_.data);
    if (const std::string content = content_of(plan_.data); !content.empty())
        options["data_content"] = content;
    options["dealing"] = dealing();
    if (counts_epochs(config_)) options["schedule_moved"] = plan_.schedule_end.moved;
    if (!parts_.empty()) options["parts"] = parts_;
    options["model"] = parse_json(model::to_json(plan_.model));
    record.options_json = dump_json(options);
    record.versions = versions_of(job_, options_);
    return record;
}

void TrainingSession::tell_checkpoint(std::int64_t step, const std::string& continuing) const {
    log_.info("a checkpoint is saved: " + train::checkpoints_of(config_.model_file) + "/" +
              train::checkpoint_name(step) + "; the same command continues from it, and so does " +
              continuing);
}

train::StepTraffic TrainingSession::traffic() const {
    const ComputeDevice& device = job_.device;
    const bool staged = device.gpu && device.settings.backend == comm::GpuBackend::staged;
    const auto dry = model::make_dry_model(
        plan_.model, device.precision, device.gpu ? model::DeviceKind::gpu : model::DeviceKind::cpu,
        {}, {job_.rank_info.rank % options_.tensor, options_.tensor},
        stage_of(config_, job_.rank_info));
    return plan::traffic_in_step(*dry, options_,
                                 {{place_.rank, place_.ranks},
                                  device.gpu ? device.settings.master : train::Master::kept,
                                  staged ? comm::HalfSums::as_whole_ones : comm::HalfSums::halves});
}

// A limit that was given and is reached needs no advice, unless it was reached before.
std::string TrainingSession::ended_text(train::ExitReason reason,
                                        const train::TrainerState& state) const {
    const std::string text = train::describe(reason, state), way(train::way_on(reason));
    const bool by_validations =
        reason == train::ExitReason::patience_over || reason == train::ExitReason::cutoff_reached;
    const bool at_once = resume_ && resume_->step == state.step;
    return way.empty() || !(by_validations || at_once) ? text : text + "; " + way + " to go on";
}

void TrainingSession::train(const train::StopFlag& stop, const std::string& continuing) {
    const auto checkpoints =
        make_saves({config_, plan_, options_, job_, *engine_, trace_, log_, progress_},
                   description_of(config_, plan_, job_), new_record());
    TrainingObservers observers(config_, job_.rank_info.rank, log_,
                                resume_.value_or(train::TrainerState{}));
    StartUpReport start_up(job_.start_up, *job_.communicator, log_);
    observers.add(start_up);
    NcclReport nccl(job_.nccl_log.get(), job_.rank_info.one_host() ? Hosts::one : Hosts::several,
                    *job_.communicator, log_);
    if (job_.device.gpu && job_.rank_info.size > 1) observers.add(nccl);
    KeptFolder kept(plan_.lock.get());
    CoresObserver cores(config_, job_, log_);
    train::ObserverList events;
    events.add(kept);
    events.add(cores);
    events.add(observers.entry());
    const std::string metrics_file =
        job_.rank_info.rank == 0 ? config_.model_file + "/metrics.jsonl" : "";
    MetricsFirst saves(*checkpoints, observers, metrics_file, log_);
    train::Trainer trainer(
        options_,
        {*engine_, *job_.communicator, trace_, *source_, events, saves, evaluator_.get(), stop,
         progress_, traffic(), plan_.schedule_end.updates, place_.counts,
         [this] { return is_sound(); }},
        resume_);
    const train::ExitReason reason = trainer.run();
    observers.flush();
    // The last weights are the model when there were no validations.
    if (!trainer.state().validation.best && !has_best_)
        checkpoints->save(train::CheckpointKind::best, trainer.state());
    checkpoints->finish();
    if (job_.rank_info.rank == 0) give_adapters(config_.model_file, plan_.model);
    log_.info("training ended: " + ended_text(reason, trainer.state()));
    if (reason == train::ExitReason::stop_requested)
        tell_checkpoint(trainer.state().step, continuing);
    else
        evaluate_weights(trainer.state_for_readers(), stop, observers.entry(), saves);
}

// Looks at a row for each rank: weights that have diverged spoil every row.
bool TrainingSession::is_sound() {
    RunConfig config = config_;
    config.skip_generation = true;
    const EvaluatorParts own = evaluator_parts();
    const EvaluatorParts parts{config,           own.model_config, own.model,    own.tokenizer,
                               own.communicator, own.lanes,        own.on_batch, {},
                               own.tensor,       own.pipeline};
    const bool held_out = !plan_.validation.sets.empty();
    EvaluatedRows rows;
    rows.split = held_out ? data::format::valid_split : data::format::train_split;
    rows.max_examples = job_.rank_info.size;
    const train::StopFlag none{};
    const auto report =
        Evaluator(parts, (held_out ? plan_.validation : plan_.data).first(), rows).evaluate(none);
    return !report || has_finite_loss(*report, plan_.model);
}

void TrainingSession::evaluate_weights(const train::TrainerState& state,
                                       const train::StopFlag& stop,
                                       train::TrainingObserver& observer, MetricsFirst& metrics) {
    const comm::PhaseScope phase(progress_, comm::Phase::validation);
    const MemoryRecord memory = memory_of_run(config_, plan_.model, recompute_, job_);
    load_shared_weights(config_.model_file, *model_, *engine_, *job_.communicator);
    engine_->share_weights();
    evaluate_at_the_end(evaluator_parts(), final_sets(plan_.data, plan_.validation), state, stop,
                        log_, observer, memory, [&metrics] { metrics.keep_metrics(); });
}

void TrainingSession::write_trace() const {
    if (!trace_.on()) return;
    const int rank = job_.rank_info.rank;
    trace_.write(config_.trace_file + (rank == 0 ? "" : ".rank" + std::to_string(rank)));
}

void TrainingSession::run(const train::StopFlag& stop, const std::string& continuing) {
    if (const auto line =
            nothing_to_do(config_, resume_, source_->rows_per_epoch(), *job_.communicator)) {
        log_.info(*line);
    } else {
        announce({config_, plan_, options_, place_, *model_, engine_->parameters().count(),
                  source_->rows_per_epoch()},
                 job_, log_);
        train(stop, continuing);
        write_trace();
    }
    job_.communicator->barrier("end");
    job_.communicator->finish();
}

}  // namespace lockstep::launcher
