// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/watch/watch_record.hpp"

namespace lockstep::comm {

// Holds one rank's knowledge of another.
struct Sighting {
    std::optional<WatchRecord> record;  // the last one received; empty: none yet
    int silent_ms = 0;                  // time since then
    bool lost = false;                  // its connection ended without a farewell
    bool unreachable = false;           // its host does not acknowledge what is sent to it
    bool broken = false;                // its connection was reset lately; it may be back
};

enum class Cause {
    failed,   // the rank reported an error of its own
    lost,     // its process or its host has ended
    silent,   // no message came from it: it is stopped or cut off
    stuck,    // it lives but does not reach the point where the others wait
    unknown,  // all ranks wait for each other
};

const char* name(Cause cause) noexcept;

// Names the rank that ended the run, and the cause.
struct Verdict {
    int rank = 0;
    Cause cause = Cause::unknown;
};

std::string encode(const Verdict& verdict);
std::optional<Verdict> decode_verdict(std::string_view text);

struct WatchLimits {
    int timeout_ms = 300'000;  // maximum time without progress
    int beat_ms = 1'000;       // time between two records of a rank
};

// Judges from one sighting for each rank, in rank order, whether the run can go on. Returns an
// empty result as long as it may. An error that only tells of another rank is held back for a short
// time until that rank's own report may have come.
std::optional<Verdict> judge(const std::vector<Sighting>& ranks, const WatchLimits& limits);

}  // namespace lockstep::comm
