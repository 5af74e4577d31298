// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/core/error.hpp"

namespace lockstep::train {
namespace {

// These are the thresholds of torch's ReduceLROnPlateau: relative for the loss, absolute for the
// rate.
constexpr double better_by = 1e-4, least_change = 1e-8;

double curve_length(const ScheduleOptions& options, std::int64_t warmup, std::int64_t run_updates) {
    const std::int64_t length = run_updates - warmup;
    const char* kind = name(options.kind);
    if (run_updates <= 0)
        throw Error(ErrorKind::config, std::string("--lr-scheduler ") + kind +
                                           " needs to know when the rate ends: add "
                                           "--num-epochs or --max-train-steps");
    if (length <= 0)
        throw Error(ErrorKind::config, "--warmup-updates " + std::to_string(warmup) +
                                           " leaves no update for --lr-scheduler " + kind +
                                           ": the run has only " + std::to_string(run_updates) +
                                           "; lower it or make the run longer");
    return static_cast<double>(length);
}

// Returns half a wave from 1 to 0; `progress` goes from 0 to 1.
double half_wave(double progress) noexcept {
    return (1 + std::cos(std::numbers::pi * std::clamp(progress, 0.0, 1.0))) / 2;
}

double decay_length(const ScheduleOptions& options, double length, std::int64_t run_updates) {
    if (options.decay_ratio > 1)
        throw Error(ErrorKind::config, "--decay-ratio is a share of the run: give at most 1");
    const double decay =
        std::max(1.0, std::ceil(static_cast<double>(run_updates) * options.decay_ratio));
    if (decay > length)
        throw Error(ErrorKind::config, "--decay-ratio: the fall takes " +
                                           std::to_string(static_cast<std::int64_t>(decay)) +
                                           " updates, and the warm-up leaves " +
                                           std::to_string(static_cast<std::int64_t>(length)) +
                                           " of " + std::to_string(run_updates) +
                                           "; lower one of the two");
    return decay;
}

}  // namespace

Schedule::Schedule(const ScheduleOptions& options, double learningrate, std::int64_t run_updates)
    : options_(options),
      learningrate_(learningrate),
      warmup_(std::max<std::int64_t>(0, options.warmup_updates)) {
    if (has_end(options.kind)) length_ = curve_length(options, warmup_, run_updates);
    if (options.min_learningrate > learningrate)
        throw Error(ErrorKind::config,
                    "--min-lr is above --learningrate, from which the rate falls to it");
    if (options.kind == ScheduleKind::wsd) decay_ = decay_length(options, length_, run_updates);
    if (options.kind == ScheduleKind::none && warmup_ > 0)
        throw Error(ErrorKind::config,
                    "--warmup-updates contradicts --lr-scheduler none; leave one out");
    if (options.kind == ScheduleKind::fixed && options.lr_scheduler_patience < 1)
        throw Error(ErrorKind::config,
                    "--lr-scheduler fixed needs --lr-scheduler-patience of 1 or more");
    gamma_ = static_cast<double>(options.invsqrt_lr_decay_gamma > 0 ? options.invsqrt_lr_decay_gamma
                                                                    : warmup_);
}

double Schedule::rate(std::int64_t updates) const noexcept {
    if (updates < warmup_) {
        const double progress = static_cast<double>(updates) / static_cast<double>(warmup_);
        return learningrate_ * (options_.warmup_rate + (1 - options_.warmup_rate) * progress);
    }
    const double share = after_warmup(static_cast<double>(updates - warmup_));
    if (!has_end(options_.kind)) return learningrate_ * share;
    return options_.min_learningrate + (learningrate_ - options_.min_learningrate) * share;
}

double Schedule::after_warmup(double s) const noexcept {
    switch (options_.kind) {
        case ScheduleKind::linear:
            return std::max(0.0, 1 - s / length_);
        case ScheduleKind::cosine:
            return half_wave(s / length_);
        case ScheduleKind::wsd:
            return half_wave((s - length_ + decay_) / decay_);
        case ScheduleKind::invsqrt:
            return std::sqrt(std::max(1.0, gamma_) / std::max(1.0, gamma_ + s));
        case ScheduleKind::none:
        case ScheduleKind::fixed:
        case ScheduleKind::reduceonplateau:
            break;
    }
    return state_.factor;
}

Schedule::Phases Schedule::phases() const noexcept {
    const auto fall = static_cast<std::int64_t>(decay_);
    return {warmup_, static_cast<std::int64_t>(length_) - fall, fall};
}

void Schedule::validated(std::int64_t updates, double loss) noexcept {
    if (updates < warmup_) return;
    ++state_.validations;
    if (options_.kind == ScheduleKind::fixed &&
        state_.validations % options_.lr_scheduler_patience == 0)
        state_.factor *= options_.lr_scheduler_decay;
    if (options_.kind != ScheduleKind::reduceonplateau) return;

    if (!state_.best_loss || loss < *state_.best_loss * (1 - better_by)) {
        state_.best_loss = loss;
        state_.bad_validations = 0;
    } else if (++state_.bad_validations > options_.lr_scheduler_patience) {
        const double lower = state_.factor * options_.lr_scheduler_decay;
        if (learningrate_ * (state_.factor - lower) > least_change) state_.factor = lower;
        state_.bad_validations = 0;
    }
}

}  // namespace lockstep::train
