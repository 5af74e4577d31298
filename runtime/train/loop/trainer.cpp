// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "runtime/comm/keep_alive.hpp"
#include "runtime/core/named_range.hpp"
#include "runtime/core/peak_memory.hpp"
#include "runtime/train/loop/epoch_share.hpp"
#include "runtime/train/loop/step_report.hpp"

namespace lockstep::train {
namespace {

// A run whose gradients are never finite learns nothing, but a single bad step does no harm.
constexpr int max_nonfinite_in_a_row = 10;

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

kernels::Step step_before(const TrainerState& state, const kernels::LossScaling& scaling) {
    kernels::Step step;
    step.state.updates = static_cast<std::uint64_t>(state.updates);
    step.tokens = state.update_tokens;
    step.scale.value = scaling.first;
    const bool dynamic = scaling.kind == kernels::LossScaling::Kind::dynamic;
    if (dynamic && state.loss_scale) step.scale = *state.loss_scale;
    return step;
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, const TrainerParts& parts,
                 const std::optional<TrainerState>& resume)
    : options_(options),
      parts_(parts),
      state_(first_state(options, resume)),
      schedule_(options.schedule, options.optimizer.learningrate,
                parts.run_updates > 0 ? parts.run_updates : options.limits.max_train_steps),
      policy_(options.validation),
      earlier_s_(state_.seconds),
      unvalidated_s_(state_.validation.since_s),
      saved_updates_(state_.updates),
      validated_updates_(state_.validation.last_updates) {
    schedule_.restore(state_.schedule);
}

TrainerState Trainer::state_for_readers() const {
    TrainerState state = state_;
    state.validation.last_updates = validated_updates_;
    return state;
}

ExitReason Trainer::run() {
    start();
    for (;;) {
        if (const auto reason = decide()) {
            if (*reason != ExitReason::stop_requested) {
                require_sound_weights();
                validate_at_the_end();
                state_.ended = describe(*reason, state_);
            }
            save(CheckpointKind::latest);
            finish_saves();
            parts_.engine.finish_weights();
            return *reason;
        }
        step();
    }
}

void Trainer::start() {
    if (parts_.source.rows_per_epoch() <= 0)
        throw Error(ErrorKind::data, "the training data holds no row: prepare it again");
    state_.ended.clear();
    parts_.engine.share_weights();
    if (state_.updates > 0) parts_.engine.share_optimizer();
    parts_.engine.restore(step_before(state_, options_.loss_scaling), state_.lanes);
    parts_.source.seek(state_.position);
    totals_[StepTotals::since_validation_s] = unvalidated_s_;
    started_ = step_ended_ = validated_ = saved_ = Clock::now();
}

void Trainer::step() {
    parts_.checkpoints.check();
    const NamedRange range("step");
    const auto begin = Clock::now();
    if (parts_.progress != nullptr) parts_.progress->begin_step(state_.step + 1);
    const StepBatches batches = [&] {
        const NamedRange data_range("data");
        const comm::PhaseScope phase(parts_.progress, comm::Phase::data);
        return parts_.source.next();
    }();
    const auto data_end = Clock::now();
    parts_.trace.add("step", "data", begin, data_end);
    require(batches.position.epoch == state_.position.epoch &&
                batches.position.step_in_epoch == state_.position.step_in_epoch,
            "the step source is elsewhere than the trainer");

    Pending pending;
    pending.data_s = seconds_between(begin, data_end);
    // The all-reduce runs while the device computes.
    const auto totals = std::make_shared<StepVector>(tell(batches));
    const comm::Ticket told =
        parts_.communicator.all_reduce(totals->values(), comm::ReduceOp::sum, "step vector");
    comm::keep_alive(parts_.communicator, totals);
    parts_.engine.queue(order(), batches.lanes);
    parts_.communicator.finish(told);  // the new weights may still be on their way
    pending.totals = *totals;
    advance(pending);
    pending_.push_back(std::move(pending));
    while (pending_.size() > steps_ahead()) settle();
}

// A gradient that ends the run must be inspected before the next step overwrites it, so no step is
// queued ahead after a non-finite one.
std::size_t Trainer::steps_ahead() const noexcept {
    return state_.nonfinite_in_a_row > 0 ? 0 : parts_.engine.steps_ahead();
}

kernels::StepOrder Trainer::order() const {
    kernels::StepOrder order;
    order.seed = state_.seed;
    order.step = static_cast<std::uint64_t>(state_.step);
    order.first_update = static_cast<std::uint64_t>(state_.updates);
    std::int64_t updates = state_.updates;
    for (float& rate : order.rates) rate = static_cast<float>(schedule_.rate(updates++));
    return order;
}

void Trainer::count_rows(const StepBatches& batches, StepVector& local) {
    local[StepTotals::lanes_finished] = static_cast<double>(batches.lanes_finished);
    const double counted = batches.lanes_counted > 0 ? 1 : 0;
    local[StepTotals::lanes] = static_cast<double>(batches.lanes_counted);
    for (const Batch& batch : batches.lanes) {
        if (batch.empty()) continue;
        local[StepTotals::lanes_with_rows] += counted;
        local[StepTotals::rows] += static_cast<double>(batch.rows.size());
        local[StepTotals::truncated_rows] += static_cast<double>(batch.truncated_rows);
    }
}

StepVector Trainer::tell(const StepBatches& batches) const {
    StepVector local;
    if (parts_.row_counts == comm::RowCounts::own) count_rows(batches, local);
    if (parts_.stop.load()) local[StepTotals::stop_wanted] = 1;
    if (parts_.checkpoints.part_is_written()) local[StepTotals::parts_written] = 1;
    if (parts_.communicator.rank() != 0) return local;
    const auto now = Clock::now();
    local[StepTotals::clock_s] = earlier_s_ + seconds_between(started_, now);
    local[StepTotals::since_validation_s] = unvalidated_s_ + seconds_between(validated_, now);
    local[StepTotals::since_save_s] = seconds_between(saved_, now);
    return local;
}

void Trainer::advance(Pending& pending) {
    const auto lanes = static_cast<double>(state_.lanes);
    totals_ = pending.totals;
    require(totals_[StepTotals::lanes] == lanes, "the ranks' sources do not give all lanes");
    state_.seconds = totals_[StepTotals::clock_s];
    pending.step = ++state_.step;
    Position& position = state_.position;
    if (totals_[StepTotals::lanes_finished] >= lanes) {
        parts_.source.next_epoch();
        position = {position.epoch + 1, 0, 0};
        pending.completed_epochs = position.epoch;
    } else {
        ++position.step_in_epoch;
        position.rows_in_epoch += std::llround(totals_[StepTotals::rows]);
    }
    state_.epochs = epochs_at(position, parts_.source.rows_per_epoch());
    pending.epochs = state_.epochs;
}

// Takes the result of the oldest pending step, counts it and reports it.
void Trainer::settle() {
    const StepResult result = [&] {
        const NamedRange range("wait for a step");
        return parts_.engine.take_result();
    }();
    const Pending pending = std::move(pending_.front());
    pending_.pop_front();
    for (comm::Timing& timing : parts_.communicator.take_timings())
        parts_.trace.add("communication", std::move(timing.label), timing.begin, timing.end);
    StepReport report = describe(result, pending.totals, options_.loss_scaling, parts_.sent);
    count(result, pending.totals);

    const auto end = Clock::now();
    report.step = pending.step;
    report.updates = state_.updates;
    report.epoch = pending.epochs;
    report.data_s = pending.data_s;
    report.seconds = seconds_between(step_ended_, end);
    report.tokens_per_s = report.seconds > 0 ? report.tokens / report.seconds : 0;
    report.peak_memory_bytes = peak_memory_bytes();
    step_ended_ = end;
    if (parts_.progress != nullptr) {
        parts_.progress->pace().add(report.step, report.data_s,
                                    report.forward_s + report.backward_s, report.optimizer_s);
    }
    parts_.observer.on_step(report);
    if (pending.completed_epochs) parts_.observer.on_epoch(*pending.completed_epochs);
    compare_weights();
    const auto every = options_.hash_every_n_updates;
    if (every > 0 && report.outcome == Outcome::updated && state_.updates % every == 0) {
        parts_.engine.hash_weights();
        hashed_update_ = state_.updates;
    }
    if (pending_.empty()) compare_weights();
}

// The hash is computed after the queued steps. If there are queued steps, the hash is taken
// together with the next result, so that the device has work meanwhile.
void Trainer::compare_weights() {
    if (hashed_update_) parts_.engine.check_weights_alike(*std::exchange(hashed_update_, {}));
}

void Trainer::settle_all() {
    while (!pending_.empty()) settle();
}

void Trainer::count(const StepResult& result, const StepVector& totals) {
    const kernels::LossScaling& scaling = options_.loss_scaling;
    const bool dynamic = scaling.kind == kernels::LossScaling::Kind::dynamic;
    const kernels::LossScale& scale = result.step.scale;
    state_.rows += std::llround(totals[StepTotals::rows]);
    state_.tokens += std::llround(result.step.sums.losses.tokens);
    state_.update_tokens = result.step.tokens;
    if (dynamic) state_.loss_scale = scale;
    if (result.step.outcome == Outcome::updated) {
        ++state_.updates;
        state_.nonfinite_in_a_row = 0;
    }
    if (result.step.outcome != Outcome::not_finite) return;
    ++state_.nonfinite_in_a_row;
    if (dynamic && scale.value <= scaling.floor)
        throw_not_finite("even with a loss scale of " + std::to_string(2 * scale.value), result);
    if (!dynamic && state_.nonfinite_in_a_row >= max_nonfinite_in_a_row)
        throw_not_finite("in " + std::to_string(state_.nonfinite_in_a_row) + " steps in a row",
                         result);
}

void Trainer::throw_not_finite(const std::string& how, const StepResult& result) {
    const std::string name = parts_.engine.nonfinite_gradient();
    const auto losses = static_cast<int>(result.step.sums.nonfinite_losses);
    const std::string where = name.empty()
                                  ? "the loss of " + std::to_string(losses) + " micro-batches"
                                  : "first in the gradient of " + name;
    throw Error(ErrorKind::numeric, "loss or gradient was not finite " + how +
                                        ", the last one step " +
                                        std::to_string(result.step.state.step + 1) + " (" + where +
                                        "): lower --learningrate, lengthen --warmup-updates or set "
                                        "--gradient-clip");
}

// A step tells of the weights before it only, so that no step has looked at the last ones.
void Trainer::require_sound_weights() {
    if (!parts_.weights_are_sound) return;
    const comm::PhaseScope phase(parts_.progress, comm::Phase::validation);
    parts_.engine.finish_weights();
    if (parts_.weights_are_sound()) return;
    throw Error(ErrorKind::numeric,
                "the loss is not finite with the weights of step " + std::to_string(state_.step) +
                    ", the last one, which are not saved: lower --learningrate, lengthen "
                    "--warmup-updates or set --gradient-clip");
}

std::optional<ExitReason> Trainer::decide() {
    if (std::exchange(totals_[StepTotals::parts_written], 0) >= parts_.communicator.size())
        parts_.checkpoints.parts_are_written();
    if (!pending_.empty()) {
        if (!decision_due()) return std::nullopt;
        settle_all();
    }
    if (totals_[StepTotals::stop_wanted] > 0) return ExitReason::stop_requested;
    // This also runs before a resumed run's first step: the run may have ended, or it may have been
    // stopped when a validation was due.
    if (parts_.validator != nullptr)
        if (const auto reason = policy_.verdict(state_.validation)) return reason;
    if (parts_.validator != nullptr && policy_.due(state_, parts_.source.rows_per_epoch(),
                                                   totals_[StepTotals::since_validation_s])) {
        if (const auto reason = validate()) return reason;
        totals_[StepTotals::since_validation_s] = 0;
    }
    if (const auto reason =
            limit_reached(options_.limits, state_, state_.updates, parts_.source.rows_per_epoch()))
        return reason;
    if (save_due(state_.updates)) save(CheckpointKind::latest);
    return std::nullopt;
}

// Tells whether a decision would be due if every pending step turned out to be an update. Any
// decision that depends on the number of updates waits until the steps are settled.
bool Trainer::decision_due() {
    TrainerState ahead = state_;
    ahead.updates += static_cast<std::int64_t>(pending_.size());
    const std::int64_t rows = parts_.source.rows_per_epoch();
    const bool validation = parts_.validator != nullptr &&
                            policy_.due(ahead, rows, totals_[StepTotals::since_validation_s]);
    return totals_[StepTotals::stop_wanted] > 0 || validation ||
           limit_reached(options_.limits, state_, ahead.updates, rows) || save_due(ahead.updates);
}

bool Trainer::save_due(std::int64_t updates) const noexcept {
    if (updates == saved_updates_) return false;
    // A run that was stopped in between saves after the same updates as one that was not.
    const std::int64_t every = options_.save_every_n_steps;
    const bool by_steps = every > 0 && updates / every > saved_updates_ / every;
    const bool by_time = options_.save_every_n_secs > 0 &&
                         totals_[StepTotals::since_save_s] >= options_.save_every_n_secs;
    return by_steps || by_time;
}

// The times go on until the save, so that the last step of each start counts, too. Only rank 0's
// state is written.
TrainerState Trainer::state_to_save() const {
    TrainerState state = state_;
    const auto now = Clock::now();
    state.seconds = std::max(state.seconds, earlier_s_ + seconds_between(started_, now));
    state.validation.since_s = unvalidated_s_ + seconds_between(validated_, now);
    return state;
}

void Trainer::save(CheckpointKind kind) {
    const NamedRange range("checkpoint");
    const comm::PhaseScope phase(parts_.progress, comm::Phase::checkpoint);
    const auto begin = Clock::now();
    parts_.checkpoints.save(kind, state_to_save());
    step_ended_ = Clock::now();
    parts_.trace.add("step", "checkpoint", begin, step_ended_);
    if (kind == CheckpointKind::best) return;
    saved_ = step_ended_;
    saved_updates_ = state_.updates;
    totals_[StepTotals::since_save_s] = 0;
}

void Trainer::finish_saves() {
    const comm::PhaseScope phase(parts_.progress, comm::Phase::checkpoint);
    const auto begin = Clock::now();
    parts_.checkpoints.finish();
    parts_.trace.add("step", "wait for the checkpoint", begin, Clock::now());
}

}  // namespace lockstep::train
