// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Tells whether the learning rate depends on the number of the run's updates, and only its epochs
// tell it.
bool counts_epochs(const RunConfig& config) noexcept;

// Returns the schedule of a run of so many updates, with --warmup-ratio turned into updates; <= 0:
// the number is not known. Throws kind config if the warm-up leaves no update.
train::ScheduleOptions schedule_of(const RunConfig& config, std::int64_t updates);

// Tells the user how many updates the epochs were counted to give.
std::string schedule_text(const RunConfig& config, std::int64_t updates);

// Says how the updates of a wsd schedule are divided; empty: it is another schedule.
std::string phases_text(const RunConfig& config, std::int64_t updates);

// Throws kind config naming the option that is wrong or missing, or does not go with others.
void check_schedule(const RunConfig& config);
// Checks what the number of updates, which data tells, decides.
void check_schedule(const RunConfig& config, std::int64_t updates);

}  // namespace lockstep::launcher
