// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launcher::live {

// Holds what a rank has told rank 0 of itself.
struct RankState {
    int rank = 0;
    std::string host, phase, operation, condition, error;
    std::int64_t process = 0, step = 0, peak_bytes = 0;
    bool lost = false;
    bool waiting = false;  // for the operation, and nothing else
    double still_s = 0;    // time without progress
    double work_s = 0;     // of its own work in a step, on the average of a window of steps
    double excess = 0;     // of this time over the median rank's: 0.25 is a quarter more
};

// Holds the limits of a run; 0: none.
struct RunLimits {
    double epochs = 0, updates = 0, seconds = 0;
};

struct RankStates {
    std::vector<RankState> ranks;  // empty: one rank, which nobody watches, or not known
    std::optional<RunLimits> limits = {};
    std::string failure = {};  // the first line of the report; empty: none
};

// Reads FOLDER/ranks.json, which a run of several ranks writes while it goes on, or what its
// FOLDER/failure.json says of the ranks. What is not there or damaged is left out.
RankStates read_rank_states(const std::string& folder);

// Returns a text such as "waiting in all_reduce "bucket 3"" or "reading data".
std::string place_of(const RankState& rank);
// Returns what is unusual about the rank: "lost", "holds up the others"; empty: nothing.
std::string remark_on(const RankState& rank);

}  // namespace lockstep::launcher::live
