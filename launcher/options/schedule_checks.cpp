// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/schedule_checks.hpp"

#include <cmath>

#include "launcher/command_line/option_table.hpp"
#include "launcher/options/run_checks.hpp"
#include "runtime/train/loop/schedule.hpp"

namespace lockstep::launcher {

namespace {

bool has_ratio(const RunConfig& config) noexcept { return config.warmup_ratio >= 0; }

std::string ratio_text(const RunConfig& config) {
    return "--warmup-ratio " + number_word(config.warmup_ratio);
}

void check_ratio(const RunConfig& config) {
    const train::RunLimits& limits = config.train.limits;
    if (config.train.schedule.warmup_updates > 0)
        config_error("--warmup-ratio contradicts --warmup-updates; leave one out");
    if (config.warmup_ratio > 0 && config.train.schedule.kind == train::ScheduleKind::none)
        config_error("--warmup-ratio contradicts --lr-scheduler none; leave one out");
    if (config.warmup_ratio > 0 && limits.max_train_steps <= 0 && limits.num_epochs <= 0)
        config_error(ratio_text(config) +
                     ": is a share of the run's updates, and nothing tells how many they are; add "
                     "--num-epochs or --max-train-steps, or give --warmup-updates");
}

}  // namespace

bool counts_epochs(const RunConfig& config) noexcept {
    const train::RunLimits& limits = config.train.limits;
    return (train::has_end(config.train.schedule.kind) || config.warmup_ratio > 0) &&
           limits.max_train_steps <= 0 && limits.num_epochs > 0;
}

// Rounded up, as transformers' Trainer does.
train::ScheduleOptions schedule_of(const RunConfig& config, std::int64_t updates) {
    train::ScheduleOptions schedule = config.train.schedule;
    if (!has_ratio(config) || updates <= 0) return schedule;
    schedule.warmup_updates =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(updates) * config.warmup_ratio));
    if (schedule.warmup_updates >= updates)
        config_error(ratio_text(config) + ": leaves no update after the warm-up, for the run has " +
                     std::to_string(updates) + "; lower it or make the run longer");
    return schedule;
}

std::string schedule_text(const RunConfig& config, std::int64_t updates) {
    const std::int64_t warmup = schedule_of(config, updates).warmup_updates;
    return "the learning rate's schedule has " + std::to_string(updates) +
           " updates, to the end of --num-epochs " + number_word(config.train.limits.num_epochs) +
           (warmup > 0 ? ", " + std::to_string(warmup) + " of them a warm-up" : "");
}

std::string phases_text(const RunConfig& config, std::int64_t updates) {
    if (config.train.schedule.kind != train::ScheduleKind::wsd) return "";
    const auto [warmup, stable, fall] =
        train::Schedule(schedule_of(config, updates), config.train.optimizer.learningrate, updates)
            .phases();
    return "the learning rate warms up in " + std::to_string(warmup) + " updates, stays in " +
           std::to_string(stable) + " and falls in the last " + std::to_string(fall) +
           " (--lr-scheduler wsd)";
}

void check_schedule(const RunConfig& config) {
    if (has_ratio(config)) check_ratio(config);
    if (!counts_epochs(config)) check_schedule(config, config.train.limits.max_train_steps);
}

// The constructor throws when the options are wrong.
void check_schedule(const RunConfig& config, std::int64_t updates) {
    (void)train::Schedule(schedule_of(config, updates), config.train.optimizer.learningrate,
                          updates);
}

}  // namespace lockstep::launcher
