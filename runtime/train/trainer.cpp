// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/trainer.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "runtime/train/parameter_sync.hpp"

namespace lockstep::train {
namespace {

TrainerState first_state(const TrainOptions& options, const std::optional<TrainerState>& resume) {
    if (!resume) {
        TrainerState fresh;
        fresh.seed = options.seed;
        fresh.lanes = options.lanes;
        return fresh;
    }
    if (resume->lanes != options.lanes)
        throw Error(ErrorKind::config, "--logical-shards " + std::to_string(options.lanes) +
                                           " cannot continue a run that began with " +
                                           std::to_string(resume->lanes) +
                                           ": leave the option out");
    return *resume;
}

std::uint64_t peak_memory_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace

std::string_view describe(ExitReason reason) noexcept {
    switch (reason) {
        case ExitReason::epochs_done:
            return "the number of epochs is reached";
        case ExitReason::steps_done:
            return "the number of steps is reached";
        case ExitReason::time_over:
            return "the time is over";
        case ExitReason::patience_over:
            return "the validations get no better";
        case ExitReason::cutoff_reached:
            return "the validation metric is good enough";
        case ExitReason::stop_requested:
            break;
    }
    return "a stop was requested";
}

Trainer::Trainer(const TrainOptions& options, TrainerParts parts,
                 std::optional<TrainerState> resume)
    : options_(options),
      parts_(parts),
      state_(first_state(options, resume)),
      schedule_(options.schedule, options.optimizer.learningrate, options.limits.max_train_steps),
      policy_(options.validation),
      train_step_(options, parts.step),
      earlier_s_(state_.seconds),
      saved_updates_(state_.updates) {
    schedule_.restore(state_.schedule);
}

ExitReason Trainer::run() {
    start();
    for (;;) {
        if (const auto reason = decide()) {
            if (*reason != ExitReason::stop_requested) validate_at_the_end();
            save(CheckpointKind::latest);
            return *reason;
        }
        step();
    }
}

void Trainer::start() {
    if (parts_.source.rows_per_epoch() <= 0)
        throw Error(ErrorKind::data, "the training data holds no row: prepare it again");
    const StepParts& step = parts_.step;
    broadcast_weights(step.communicator, step.store);
    if (state_.updates > 0) broadcast_state(step.communicator, step.optimizer);
    write_compute_copy(step.context, step.store);
    parts_.source.seek(state_.position);
    started_ = step_ended_ = validated_ = saved_ = Clock::now();
}

void Trainer::step() {
    const auto begin = Clock::now();
    comm::Whereabouts* const whereabouts = parts_.step.whereabouts;
    if (whereabouts != nullptr) whereabouts->begin_step(state_.step + 1);
    const StepBatches batches = [&] {
        const comm::PhaseScope phase(whereabouts, comm::Phase::data);
        return parts_.source.next();
    }();
    const auto data_end = Clock::now();
    parts_.step.trace.add("step", "data", begin, data_end);
    require(batches.position.epoch == state_.position.epoch &&
                batches.position.step_in_epoch == state_.position.step_in_epoch,
            "the step source is elsewhere than the trainer");

    StepVector local = tell();
    local[StepSum::lanes_finished] = static_cast<double>(batches.lanes_finished);
    local[StepSum::lanes_done] = batches.epoch_done * static_cast<double>(batches.lanes.size());
    auto [report, totals] = train_step_.take(batches.lanes, schedule_, local, state_);
    advance(totals);

    const auto end = Clock::now();
    report.epoch = state_.epochs;
    report.data_s = seconds_between(begin, data_end);
    report.seconds = seconds_between(step_ended_, end);
    report.tokens_per_s = report.seconds > 0 ? report.tokens / report.seconds : 0;
    report.peak_memory_bytes = peak_memory_bytes();
    step_ended_ = end;
    if (whereabouts != nullptr) {
        whereabouts->pace().add(report.step, report.data_s, report.forward_s + report.backward_s,
                                report.optimizer_s);
    }
    parts_.observer.on_step(report);
    if (state_.position.step_in_epoch == 0) parts_.observer.on_epoch(state_.position.epoch);
    const auto every = options_.hash_every_n_updates;
    if (every > 0 && report.outcome == Outcome::updated && state_.updates % every == 0)
        check_weights_alike(parts_.step.communicator, parts_.step.store, state_.updates);
}

StepVector Trainer::tell() const {
    StepVector local;
    if (parts_.stop.load()) local[StepSum::stop_wanted] = 1;
    if (parts_.step.communicator.rank() != 0) return local;
    const auto now = Clock::now();
    local[StepSum::clock_s] = earlier_s_ + seconds_between(started_, now);
    local[StepSum::since_validation_s] = seconds_between(validated_, now);
    local[StepSum::since_save_s] = seconds_between(saved_, now);
    return local;
}

void Trainer::advance(const StepVector& totals) {
    const auto lanes = static_cast<double>(state_.lanes);
    require(totals[StepSum::lanes] == lanes, "the ranks' sources do not give all lanes");
    totals_ = totals;
    state_.seconds = totals[StepSum::clock_s];
    Position& position = state_.position;
    if (totals[StepSum::lanes_finished] >= lanes) {
        parts_.source.next_epoch();
        position = {position.epoch + 1, 0};
        state_.epochs = static_cast<double>(position.epoch);
    } else {
        ++position.step_in_epoch;
        // The share is an estimate; only the lanes' end completes an epoch.
        const double share = std::min(totals[StepSum::lanes_done] / lanes, 1 - 1e-9);
        state_.epochs = static_cast<double>(position.epoch) + share;
    }
}

std::optional<ExitReason> Trainer::decide() {
    if (totals_[StepSum::stop_wanted] > 0) return ExitReason::stop_requested;
    // Also before a resumed run's first step: a stop may have come where a validation was due.
    if (parts_.validator != nullptr && policy_.due(state_, totals_[StepSum::since_validation_s])) {
        if (const auto reason = validate()) return reason;
        totals_[StepSum::since_validation_s] = 0;
    }
    if (const auto reason = limit_reached()) return reason;
    if (save_due()) save(CheckpointKind::latest);
    return std::nullopt;
}

std::optional<ExitReason> Trainer::limit_reached() const noexcept {
    const RunLimits& limits = options_.limits;
    if (limits.num_epochs > 0 && state_.epochs >= limits.num_epochs) return ExitReason::epochs_done;
    if (limits.max_train_steps > 0 && state_.updates >= limits.max_train_steps)
        return ExitReason::steps_done;
    if (limits.max_train_time_s > 0 && state_.seconds >= limits.max_train_time_s)
        return ExitReason::time_over;
    return std::nullopt;
}

bool Trainer::save_due() const noexcept {
    if (state_.updates == saved_updates_) return false;
    const bool by_steps = options_.save_every_n_steps > 0 &&
                          state_.updates - saved_updates_ >= options_.save_every_n_steps;
    const bool by_time = options_.save_every_n_secs > 0 &&
                         totals_[StepSum::since_save_s] >= options_.save_every_n_secs;
    return by_steps || by_time;
}

void Trainer::save(CheckpointKind kind) {
    const comm::PhaseScope phase(parts_.step.whereabouts, comm::Phase::checkpoint);
    parts_.checkpoints.save(kind, state_);
    step_ended_ = Clock::now();
    if (kind == CheckpointKind::best) return;
    saved_ = step_ended_;
    saved_updates_ = state_.updates;
    totals_[StepSum::since_save_s] = 0;
}

ValidationReport Trainer::evaluate() {
    const comm::PhaseScope phase(parts_.step.whereabouts, comm::Phase::validation);
    const auto begin = Clock::now();
    ValidationReport report = parts_.validator->evaluate();
    const auto end = Clock::now();
    parts_.step.trace.add("step", "validation", begin, end);
    report.seconds = seconds_between(begin, end);
    report.step = state_.step;
    report.updates = state_.updates;
    report.epoch = state_.epochs;
    report.best = policy_.better(policy_.metric(report), state_.validation);
    return report;
}

std::optional<ExitReason> Trainer::validate() {
    const ValidationReport report = evaluate();
    schedule_.validated(state_.updates, report.metrics.at("loss"));
    state_.schedule = schedule_.state();
    const auto verdict = policy_.judge(policy_.metric(report), state_);
    parts_.observer.on_validation(report);
    if (report.best) save(CheckpointKind::best);
    if (options_.save_after_valid) save(CheckpointKind::latest);
    validated_ = step_ended_ = Clock::now();
    switch (verdict) {
        case ValidationPolicy::Verdict::patience_over:
            return ExitReason::patience_over;
        case ValidationPolicy::Verdict::cutoff_reached:
            return ExitReason::cutoff_reached;
        case ValidationPolicy::Verdict::go_on:
            break;
    }
    return std::nullopt;
}

// The last weights may be the best ones. Patience and schedule stay as they are, so that the run
// can later go on as if it had not ended here.
void Trainer::validate_at_the_end() {
    if (parts_.validator == nullptr || !policy_.on()) return;
    if (state_.updates == state_.validation.last_updates) return;
    const ValidationReport report = evaluate();
    if (report.best) state_.validation.best = policy_.metric(report);
    parts_.observer.on_validation(report);
    if (report.best) save(CheckpointKind::best);
}

}  // namespace lockstep::train
