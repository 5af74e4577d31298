// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/watch/watch_record.hpp"

namespace lockstep::comm {

// What one rank knows of another.
struct Sighting {
    std::optional<WatchRecord> record;  // the last heard; empty: none yet
    int silent_ms = 0;                  // since then
    bool lost = false;                  // its connection ended without a farewell
};

enum class Cause {
    failed,   // the rank said so itself
    lost,     // its process has ended, or its host
    silent,   // nothing was heard of it: stopped, or cut off
    stuck,    // it lives, and does not come to where the others wait
    unknown,  // all wait for one another
};

const char* name(Cause cause) noexcept;

// Which rank ended the run, and why.
struct Verdict {
    int rank = 0;
    Cause cause = Cause::unknown;
};

std::string encode(const Verdict& verdict);
std::optional<Verdict> decode_verdict(std::string_view text);

struct WatchLimits {
    int timeout_ms = 300'000;  // without progress
    int beat_ms = 1'000;       // between two tellings of a rank
};

// One sighting for each rank, in order. Empty as long as the run goes on, or may. Errors that only
// tell of another rank wait a little for that rank's own sign.
std::optional<Verdict> judge(const std::vector<Sighting>& ranks, const WatchLimits& limits);

}  // namespace lockstep::comm
