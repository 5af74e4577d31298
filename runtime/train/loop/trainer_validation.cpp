// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "runtime/core/named_range.hpp"
#include "runtime/train/loop/trainer.hpp"

namespace lockstep::train {

// The result is empty if a stop was requested meanwhile.
std::optional<ValidationReport> Trainer::evaluate() {
    const NamedRange range("validation");
    const comm::PhaseScope phase(parts_.progress, comm::Phase::validation);
    parts_.engine.finish_weights();
    const auto begin = Clock::now();
    std::optional<ValidationReport> report = parts_.validator->evaluate(parts_.stop);
    const auto end = Clock::now();
    parts_.trace.add("step", "validation", begin, end);
    if (!report) return std::nullopt;
    report->seconds = seconds_between(begin, end);
    report->step = state_.step;
    report->updates = state_.updates;
    report->epoch = state_.epochs;
    report->best = policy_.better(policy_.metric(*report), state_.validation);
    validated_updates_ = state_.updates;
    return report;
}

std::optional<ExitReason> Trainer::validate() {
    const std::optional<ValidationReport> report = evaluate();
    // The state stays as it was, so the continued run begins with the same validation.
    if (!report) return ExitReason::stop_requested;
    schedule_.validated(state_.updates, report->metrics.at("loss"));
    state_.schedule = schedule_.state();
    const auto verdict = policy_.judge(policy_.metric(*report), state_);
    parts_.observer.on_validation(*report);
    validated_ = Clock::now();
    unvalidated_s_ = 0;
    if (report->best) save(CheckpointKind::best);
    // A run that ends here is saved with the reason of its end.
    const bool goes_on = !verdict && !limit_reached(options_.limits, state_, state_.updates,
                                                    parts_.source.rows_per_epoch());
    if (options_.save_after_valid && goes_on) save(CheckpointKind::latest);
    validated_ = step_ended_ = Clock::now();
    return verdict;
}

// Validates at the end of the run because the last weights may be the best. Patience and schedule
// stay unchanged, so that the run can be continued later as if it had not ended here.
void Trainer::validate_at_the_end() {
    if (parts_.validator == nullptr || !policy_.on()) return;
    if (state_.updates == state_.validation.last_updates) return;
    const std::optional<ValidationReport> report = evaluate();
    if (!report) return;
    if (report->best) state_.validation.best = policy_.metric(*report);
    parts_.observer.on_validation(*report);
    if (report->best) save(CheckpointKind::best);
}

}  // namespace lockstep::train
