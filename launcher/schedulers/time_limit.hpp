// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::launcher {

// Returns the seconds of a checked --time, which has sbatch's forms: "90" (minutes), "90:30"
// (minutes and seconds), "12:00:00", "2-12", "2-12:00" and "2-12:00:00" (days and hours). The
// result is 0 for an empty text.
std::int64_t time_limit_s(const std::string& time);

// Returns hours, minutes and seconds: "60:00:00".
std::string wall_time(std::int64_t seconds);

}  // namespace lockstep::launcher
