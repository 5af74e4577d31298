// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/validation_policy.hpp"

#include "runtime/core/error.hpp"

namespace lockstep::train {
namespace {

// Uses ParlAI's rule, also for the metric of one of several data sets ("NAME/ppl").
Direction direction_of(const std::string& name) {
    const std::string metric = name.substr(name.rfind('/') + 1);
    const bool smaller_is_better = metric == "loss" || metric == "ppl" || metric == "mean_rank";
    return smaller_is_better ? Direction::minimise : Direction::maximise;
}

}  // namespace

ValidationPolicy::ValidationPolicy(const ValidationOptions& options)
    : options_(options),
      every_n_epochs_(options.every_n_epochs),
      direction_(options.mode.value_or(direction_of(options.metric))) {}

bool ValidationPolicy::on() const noexcept {
    return every_n_epochs_.given() || options_.every_n_steps > 0 || options_.every_n_secs > 0;
}

bool ValidationPolicy::due_by_epochs(const TrainerState& state,
                                     std::int64_t rows_per_epoch) const noexcept {
    if (!every_n_epochs_.given()) return false;
    const auto completed = [&](double epochs) {
        return every_n_epochs_.completed(rows_at(epochs, rows_per_epoch), rows_per_epoch);
    };
    return completed(state.epochs) > completed(state.validation.last_epochs);
}

bool ValidationPolicy::due(const TrainerState& state, std::int64_t rows_per_epoch,
                           double since_validation_s) const noexcept {
    const ValidationState& last = state.validation;
    // Skipped updates leave the weights as they were at the last validation.
    if (state.updates == last.last_updates) return false;
    const auto by_steps =
        options_.every_n_steps > 0 && state.updates - last.last_updates >= options_.every_n_steps;
    const auto by_time = options_.every_n_secs > 0 && since_validation_s >= options_.every_n_secs;
    return by_steps || by_time || due_by_epochs(state, rows_per_epoch);
}

double ValidationPolicy::metric(const ValidationReport& report) const {
    const auto found = report.metrics.find(options_.metric);
    if (found != report.metrics.end()) return found->second;
    std::string names;
    for (const auto& [name, value] : report.metrics) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::config, "--validation-metric " + options_.metric +
                                       " is not among the metrics of this validation: " + names);
}

bool ValidationPolicy::at_least_as_good(double value, double than) const noexcept {
    return direction_ == Direction::minimise ? value <= than : value >= than;
}

bool ValidationPolicy::better(double value, const ValidationState& state) const noexcept {
    if (!state.best) return value == value;
    return at_least_as_good(value, *state.best) && value != *state.best;
}

std::optional<ExitReason> ValidationPolicy::judge(double value,
                                                  TrainerState& trainer) const noexcept {
    ValidationState& state = trainer.validation;
    state.last = value;
    state.last_updates = trainer.updates;
    state.last_epochs = trainer.epochs;
    if (better(value, state)) {
        state.best = value;
        state.without_better = 0;
    } else {
        ++state.without_better;
    }
    return verdict(state);
}

std::optional<ExitReason> ValidationPolicy::verdict(const ValidationState& state) const noexcept {
    if (!on()) return std::nullopt;
    if (options_.has_cutoff && state.last && at_least_as_good(*state.last, options_.cutoff))
        return ExitReason::cutoff_reached;
    if (options_.patience > 0 && state.without_better >= options_.patience)
        return ExitReason::patience_over;
    return std::nullopt;
}

}  // namespace lockstep::train
