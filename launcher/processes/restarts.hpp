// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launcher/processes/process_group.hpp"

namespace lockstep::launcher {

struct RestartPolicy {
    int max_restarts = 0;
    // The pause before a restart. It doubles, up to a minute, with each start in a row that made no
    // progress: what failed may need time, and ranks of other launchers end in it as well.
    int pause_ms = 1'000;
    // Returns the name of the newest checkpoint, or "" if there is none. Null: unknown.
    std::function<std::string()> newest_checkpoint = nullptr;
};

// After this many restarts in a row without a newer checkpoint no other one is made.
constexpr int max_restarts_without_progress = 5;

// Tells what follows a failed attempt.
struct AfterFailure {
    int restart = 0;           // number of the next restart (1 ...); 0: none
    int pause_ms = 0;          // before it
    bool no_progress = false;  // no restart because the last ones made no progress
    std::string newest_checkpoint;
};

// Runs attempts 0, 1, ... until one succeeds or none is left. An attempt that was stopped from
// outside is not repeated, nor is exit code 2, which means that the request itself is wrong.
// `failed` is called with each failure, before the pause.
GroupResult run_with_restarts(
    const std::function<GroupResult(int attempt)>& run, const RestartPolicy& policy,
    const std::function<void(const GroupResult&, const AfterFailure&)>& failed);

// Returns a text such as "failed first, with exit code 5; the other ranks were ended, all start
// again in 2 s (restart 1 of 2)".
std::string failure_text(const GroupResult& result, const AfterFailure& after,
                         const RestartPolicy& policy);

// Returns a text such as "stopped at once at the second Ctrl-C" if the ranks were ended by a
// request from outside; empty: a rank failed by itself.
std::string ended_by_request(const GroupResult& result);

// Returns the launcher's exit code: 0, the failed rank's exit code, or 1 when a signal killed it or
// the ranks were killed at a request.
int exit_code_of(const GroupResult& result) noexcept;

}  // namespace lockstep::launcher
